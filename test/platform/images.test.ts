import { expect } from 'chai';
import { visit } from '../support/client.js';
import { createService, deploy, ended, queueDeploy, readLogs, readService } from '../support/deployments.js';
import { NO_REGISTRY } from '../support/docker-registry.js';
import { ImageFixture } from '../support/image-fixture.js';
import type { Platform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { NO_IMAGES } from '../support/test-image.js';

const REASON = NO_IMAGES || NO_REGISTRY;
const PORT = 5077;

/** Images and Dockerfiles on a host without a Docker engine. */
describe(`Images on a host with an OCI runtime${REASON === '' ? '' : `: ${REASON}`}`, function () {
  this.timeout(120_000);
  let fixture: ImageFixture;
  let platform: Platform;

  before(async function () {
    if (REASON !== '') this.skip();
    fixture = await ImageFixture.create(PORT);
    platform = fixture.platform;
    const serve = [
      '--config.entrypoint',
      'httpd',
      '--config.env',
      'PATH=/bin',
      '--config.env',
      'GREETING=from the image',
    ];
    await fixture.push('web:1', {
      files: { 'www/index.html': 'an image' },
      config: [
        ...serve,
        ...['-f', '-p', '80', '-h', '/www'].flatMap((word) => ['--config.cmd', word]),
        '--config.user',
        'web',
        '--config.workingdir',
        '/www',
      ],
    });
    await fixture.push('base:1', {
      files: { 'www/index.html': 'a base' },
      config: [...serve, '--config.volume', '/data/files'],
    });
    await fixture.push('silent:1', {});
  });
  after(() => fixture?.destroy());

  const ofImage = (image: string, more: object = {}) => ({
    sourceType: 'image',
    image: `${fixture.registry.address}/${image}`,
    ...more,
  });
  const bodyOf = (url: string) => fixture.bodyOf(url);

  it('run with their own command, user, folder and variables, on the port on which they listen', async () => {
    const { client } = platform;
    const service = await createService(client, { name: 'image', configuration: ofImage('web:1') });
    const first = await deploy(client, service.id);
    expect(await bodyOf(service.url)).to.equal('an image');
    expect(first).to.have.property('status', 'live');
    const second = await deploy(client, service.id);
    expect(second.id).not.to.equal(first.id);
    expect(await bodyOf(service.url)).to.equal('an image');
  });

  it('have the volumes of their service, owned by their user, where the image has a folder and where it has none', async () => {
    const { client } = platform;
    const startCommand =
      'echo x >> /data/files/starts; echo x >> /new/place/starts; exec httpd -f -p 80 -h /data/files';
    const service = await createService(client, {
      name: 'image volumes',
      configuration: ofImage('base:1', { startCommand, plan: 'starter' }),
    });
    for (const [name, mountPath] of Object.entries({ a: '/data/files', b: '/new/place' })) {
      await client.expect('POST', `/services/${service.id}/volumes`, { name, mountPath, sizeGb: 1 });
    }
    for (let release = 1; release <= 2; release++) {
      await deploy(client, service.id);
      expect(await fixture.bodyOf(service.url, '/starts')).to.equal('x\n'.repeat(release));
    }
  });

  it('start what startCommand says instead', async () => {
    const { client } = platform;
    const startCommand =
      'id -u; pwd; echo "$GREETING"; ls /data; mkdir /x && echo given >/x/index.html; exec httpd -f -p $PORT -h /x';
    const service = await createService(client, { name: 'given', configuration: ofImage('base:1', { startCommand }) });
    const { id } = await deploy(client, service.id);
    expect(await bodyOf(service.url)).to.equal('given\n');
    const lines = (await readLogs(client, service.id, `&deploymentId=${id}`)).map(({ message }) => message);
    expect(lines).to.include.members(['0', '/', 'from the image', 'files']);
  });

  it('that cannot be had or started are explained', async () => {
    const { client } = platform;
    const service = await createService(client, { name: 'wrong', configuration: ofImage('absent:1') });
    const absent = await ended(client, service.id, (await queueDeploy(client, service.id)).id);
    expect(absent).to.have.property('status', 'failed');
    expect(absent.error).to.match(/absent:1 does not exist/);
    await client.expect('PATCH', `/services/${service.id}`, { configuration: ofImage('silent:1') });
    const silent = await ended(client, service.id, (await queueDeploy(client, service.id)).id);
    expect(silent.error).to.match(/neither ENTRYPOINT nor CMD/);
  });

  it('are built from a Dockerfile of several stages, with arguments and secrets', async () => {
    const { client } = platform;
    const repository = await platform.repositoryOf({
      Dockerfile: [
        `FROM ${fixture.registry.address}/base:1 AS made`,
        'ARG WORD=nothing',
        'RUN --mount=type=secret,id=TOKEN test "$(cat /run/secrets/TOKEN)" = hidden && echo "$WORD" >/www/index.html',
        `FROM ${fixture.registry.address}/base:1`,
        'COPY --from=made /www /www',
        'COPY *.txt /www/',
        'SHELL ["/bin/busybox", "sh", "-uc"]',
        'RUN echo "shell $-" >/www/shell.txt',
        'COPY <<END /www/here.txt',
        'a here-document',
        'END',
        'USER web',
        'CMD ["-f", "-p", "8080", "-h", "/www"]',
      ].join('\n'),
      'a.txt': 'a file',
      'b.txt': 'left out',
      '.dockerignore': 'b.txt',
    });
    const service = await createService(client, {
      name: 'docker',
      configuration: { repository: repository.url },
      variables: [
        { key: 'WORD', value: 'built' },
        { key: 'TOKEN', value: 'hidden' },
      ],
    });
    const { id } = await deploy(client, service.id);
    const lines = (await readLogs(client, service.id, `&deploymentId=${id}`)).map(({ message }) => message);
    expect(lines.join('\n')).to.include('STEP');
    expect(await bodyOf(service.url)).to.equal('built\n');
    expect((await visit(service.url, platform.edgePort, '/a.txt')).body).to.equal('a file');
    expect((await visit(service.url, platform.edgePort, '/b.txt')).status).to.equal(404);
    expect(await fixture.bodyOf(service.url, '/here.txt')).to.equal('a here-document\n');
    expect(await fixture.bodyOf(service.url, '/shell.txt')).to.match(/^shell .*u/);
    const startArguments = ['-f', '-p', '8081', '-h', '/www'];
    const made = { dockerfileTarget: 'made', startArguments };
    await client.expect('PATCH', `/services/${service.id}`, { configuration: made });
    await deploy(client, service.id);
    expect(await bodyOf(service.url)).to.equal('built\n');
    expect((await visit(service.url, platform.edgePort, '/a.txt')).status).to.equal(404);
    const dockerfileText = `FROM ${fixture.registry.address}/base:1\nCOPY a.txt /www/index.html\n`;
    const configuration = { dockerfileTarget: '', dockerfileText };
    await client.expect('PATCH', `/services/${service.id}`, { configuration });
    await deploy(client, service.id);
    expect(await bodyOf(service.url)).to.equal('a file');
    await client.expect('PATCH', `/services/${service.id}`, {
      configuration: { dockerfileTarget: 'other', dockerfileText: '' },
    });
    const other = await ended(client, service.id, (await queueDeploy(client, service.id)).id);
    expect(other.error).to.contain('dockerfileTarget "other" is no stage of the Dockerfile, which has: made');
  });

  it('have HEALTHCHECK, SHELL and ONBUILD of their base', async () => {
    const { client } = platform;
    await fixture.pushBuilt('parent:1', [
      `FROM ${fixture.registry.address}/base:1`,
      'SHELL ["/bin/busybox", "sh", "-uc"]',
      'ONBUILD RUN echo triggered >/www/trigger.txt',
      'HEALTHCHECK --interval=7s CMD test -e /www/trigger.txt',
    ]);
    const repository = await platform.repositoryOf({
      Dockerfile: [
        `FROM ${fixture.registry.address}/parent:1`,
        'RUN echo "shell $-" >/www/shell.txt',
        'CMD ["-f", "-p", "8080", "-h", "/www"]',
      ].join('\n'),
    });
    const service = await createService(client, { name: 'child', configuration: { repository: repository.url } });
    await deploy(client, service.id);
    expect(await fixture.bodyOf(service.url, '/trigger.txt')).to.equal('triggered\n');
    expect(await fixture.bodyOf(service.url, '/shell.txt')).to.match(/^shell .*u/);
    const image = await platform.database.db('images').where({ service_id: service.id }).first();
    expect(image.manifest.process.healthCheck).to.include({ intervalMs: 7_000 });
  });

  it('count as ready once their HEALTHCHECK passes, and as unhealthy while it fails', async () => {
    const { client } = platform;
    const check = 'test -e /www/ok.txt || { echo nothing is ready; exit 3; }';
    const repository = await platform.repositoryOf({
      Dockerfile: [
        `FROM ${fixture.registry.address}/base:1`,
        `HEALTHCHECK --interval=1s --retries=2 CMD ${check}`,
        'ENTRYPOINT ["/bin/sh", "-c"]',
        'CMD ["(sleep 3; touch /www/ok.txt; sleep 8; rm /www/ok.txt) & exec httpd -f -p $PORT -h /www"]',
      ].join('\n'),
    });
    const service = await createService(client, { name: 'checked', configuration: { repository: repository.url } });
    await deploy(client, service.id);
    expect(await fixture.bodyOf(service.url, '/ok.txt')).to.equal('');
    const unhealthy = await eventually('the check is noticed', async () => {
      const found = await readService(client, service.id);
      return found.healthStatus === 'unhealthy' ? found : null;
    });
    expect(unhealthy?.runtimeDetail).to.match(/HEALTHCHECK failed with code 3: nothing is ready/);
  });

  it('are left out, with the reason, if their Dockerfile was not asked for and names an image that cannot be had', async () => {
    const { client } = platform;
    const files = { Dockerfile: `FROM ${fixture.registry.address}/absent:1\n`, 'index.html': 'a page' };
    const repository = await platform.repositoryOf(files);
    const service = await createService(client, { name: 'page', configuration: { repository: repository.url } });
    await deploy(client, service.id);
    expect(await bodyOf(service.url)).to.equal('a page');
    const lines = (await readLogs(client, service.id)).map(({ message }) => message);
    expect(lines.find((line) => line.startsWith('The Dockerfile is left out'))).to.match(/absent:1 does not exist/);
    await client.expect('PATCH', `/services/${service.id}`, { configuration: { buildMethod: 'dockerfile' } });
    const asked = await ended(client, service.id, (await queueDeploy(client, service.id)).id);
    expect(asked.error).to.match(/absent:1 does not exist/);
  });
});
