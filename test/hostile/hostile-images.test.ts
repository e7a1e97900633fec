import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { expect } from 'chai';
import { createService, deploy, ended, queueDeploy, readLogs } from '../support/deployments.js';
import { NO_REGISTRY } from '../support/docker-registry.js';
import { ImageFixture } from '../support/image-fixture.js';
import type { Platform } from '../support/platform.js';
import { NO_IMAGES, type TestImage } from '../support/test-image.js';

const REASON = NO_IMAGES || NO_REGISTRY;
const PORT = 5078;
const SERVE = ['httpd', '-f', '-p', '8080', '-h', '/www'];
const OUTSIDE = '/tmp/ranvier-image-outside';

/** Images and Dockerfiles that attack the host which unpacks, builds and runs them. */
describe(`Hostile images${REASON === '' ? '' : `: ${REASON}`}`, function () {
  this.timeout(180_000);
  let fixture: ImageFixture;
  let platform: Platform;

  before(async function () {
    if (REASON !== '') this.skip();
    fixture = await ImageFixture.create(PORT);
    platform = fixture.platform;
  });
  after(async () => {
    await fixture?.destroy();
    await rm(OUTSIDE, { recursive: true, force: true });
  });

  async function deployImage(name: string, given: TestImage, configuration: object = {}) {
    const image = await fixture.push(`${name}:1`, {
      files: { 'www/index.html': 'up' },
      config: ['--config.env', 'PATH=/bin', ...SERVE.flatMap((word) => ['--config.cmd', word])],
      ...given,
    });
    const { client } = platform;
    const service = await createService(client, {
      name,
      configuration: { sourceType: 'image', image, ...configuration },
    });
    const deployment = await ended(client, service.id, (await queueDeploy(client, service.id)).id);
    return { service, deployment };
  }

  it('write nothing outside of their root, by links or by names', async () => {
    const layer = `mkdir a && ln -s ${OUTSIDE} a/out && tar -cf layer.tar a && rm a/out && mkdir a/out && echo x >a/out/file &&
      tar -rf layer.tar a/out/file && echo y >z && tar -rf layer.tar --transform 's,^z,../../../../../..${OUTSIDE}-name,' -P z`;
    const { service, deployment } = await deployImage('links', { layer });
    expect([OUTSIDE, `${OUTSIDE}-name`].filter(existsSync)).to.deep.equal([]);
    if (deployment.status === 'live') expect(await fixture.bodyOf(service.url)).to.equal('up');
    else expect(deployment.error).to.match(/unpacking the image/);
  });

  it('make no devices', async () => {
    const layer = 'mknod disk b 254 0 && tar -cf layer.tar disk';
    const startCommand = `test -b /disk && echo device; ${SERVE.join(' ')}`;
    const { service, deployment } = await deployImage('devices', { layer }, { startCommand });
    const lines = (await readLogs(platform.client, service.id)).map(({ message }) => message);
    expect(lines).to.not.include('device');
    if (deployment.status !== 'live') expect(deployment.error).to.match(/unpacking the image/);
  });

  it('are larger than their plan for nobody else', async () => {
    const layer = 'truncate -s 1200M zeros && tar -cf layer.tar zeros && rm zeros';
    const { deployment } = await deployImage('bomb', { layer });
    expect(deployment).to.include({ status: 'failed' });
    expect(deployment.error).to.match(/the plan allows|file too large|larger/);
  });

  it('get no privileges by setuid programs, and see only themselves', async () => {
    const startCommand = [
      '/s/busybox id -u',
      'echo processes $(ls /proc | grep -c "^[0-9]*$")',
      'echo mounted $(mount -t tmpfs x /www 2>&1)',
      'echo root $(ls /root 2>&1)',
      'exec httpd -f -p 8080 -h /www',
    ].join('; ');
    const { service, deployment } = await deployImage(
      'setuid',
      {
        layer:
          'mkdir s bin && cp /bin/busybox s && chmod 4755 s/busybox && ln -s busybox bin/grep && ln -s busybox bin/mount && tar -cf layer.tar s bin',
        config: ['--config.user', 'web', '--config.env', 'PATH=/bin', '--config.cmd', 'sh'],
      },
      { startCommand },
    );
    expect(deployment.status, deployment.error).to.equal('live');
    const lines = (await readLogs(platform.client, service.id)).map(({ message }) => message);
    expect(lines).to.include('1000');
    expect(lines.find((line) => line.startsWith('mounted'))).to.match(/permission denied|not permitted/i);
    expect(Number(lines.find((line) => line.startsWith('processes'))?.split(' ')[1])).to.be.lessThan(12);
  });

  it('reach nothing of the host by the commands of a Dockerfile that leave their folder', async () => {
    const base = await fixture.push('base:1', { files: { 'www/index.html': 'built' } });
    const commands = [
      'echo host $(cat /etc/shadow 2>&1 | wc -l)',
      'umount -l /etc/resolv.conf; mount -o remount,rw,bind /etc 2>&1; touch /etc/ranvier-was-here 2>&1',
      'umount -l /var /root /run 2>&1; ls /root /var/lib 2>&1',
      'mknod /tmp/disk b 254 0 2>&1',
      'echo processes $(ls /proc | grep -c "^[0-9]*$")',
      'echo left',
    ].join('; ');
    const repository = await platform.repositoryOf({
      Dockerfile: [
        `FROM ${base}`,
        `RUN /bin/busybox chroot /proc/1/root /bin/sh -c '${commands}' || echo kept`,
        `CMD ${JSON.stringify(SERVE)}`,
        'ENV PATH=/bin',
      ].join('\n'),
    });
    const { client } = platform;
    const service = await createService(client, { name: 'escape', configuration: { repository: repository.url } });
    await deploy(client, service.id);
    const lines = (await readLogs(client, service.id)).map(({ message }) => message);
    const output = lines.join('\n');
    expect(output).to.match(/^(left|kept)$/m);
    expect(existsSync('/etc/ranvier-was-here')).to.equal(false);
    if (lines.includes('left')) {
      expect(lines).to.include('host 1');
      expect(output).to.match(/mknod: .*not permitted/i);
      expect(output).to.not.match(/^(dpkg|apt|systemd)$/m);
      expect(Number(lines.find((line) => line.startsWith('processes'))?.split(' ')[1])).to.be.lessThan(30);
    }
  });
});
