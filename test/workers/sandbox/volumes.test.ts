import { spawnSync } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { DetachedProcess, SandboxSpec, SandboxVolume } from '../../../workers/sandbox/sandbox.js';
import { isRoot, ownDirectory } from '../../../workers/sandbox/service-users.js';
import { canMountImages, extendImage, growMounted, makeImage } from '../../../workers/volumes/volume-image.js';
import { eventually } from '../../support/processes.js';
import { LEVELS, Playground, USER } from './support.js';

const BYTES = 64_000_000;

describe('Volumes in a sandbox', () => {
  let ground: Playground;
  let mounts = false;
  before(async function () {
    if (LEVELS[0] === 'none') this.skip();
    ground = await Playground.create(LEVELS[0]);
    mounts = await canMountImages(ground.dataDir);
  });
  after(() => ground?.destroy());

  let count = 0;
  /** A volume with a file system of its own, or a plain folder. */
  async function volume(path: string, kind: 'image' | 'folder'): Promise<SandboxVolume> {
    count += 1;
    const folder = join(ground.dataDir, 'volumes', `volume-${count}`);
    await mkdir(join(folder, 'data'), { recursive: true, mode: 0o755 });
    if (kind === 'image') await makeImage(folder, BYTES);
    else await ownDirectory(join(folder, 'data'), USER);
    return { folder, path, exclusive: true, grows: false };
  }

  interface Started {
    spec: SandboxSpec;
    running: DetachedProcess;
    output: () => Promise<string>;
  }
  async function start(command: string, volumes: SandboxVolume[]): Promise<Started> {
    const spec = await ground.spec(command, { volumes });
    const log = join(ground.dataDir, `${spec.id}.log`);
    const running = await ground.sandbox.start(spec, {
      logFile: log,
      exitFile: join(ground.dataDir, `${spec.id}.exit`),
    });
    return { spec, running, output: () => readFile(log, 'utf8') };
  }
  async function outputOf(command: string, volumes: SandboxVolume[]): Promise<string> {
    const { running, output, spec } = await start(command, volumes);
    while (await ground.sandbox.isAlive(running)) await sleep(20);
    await ground.sandbox.stop(spec.id, running, 0);
    return output();
  }
  const loopDevices = () =>
    spawnSync('losetup', ['-n', '-O', 'BACK-FILE'], { encoding: 'utf8' })
      .stdout.split('\n')
      .filter((line) => line.includes(ground.dataDir));

  for (const kind of ['folder', 'image'] as const) {
    it(`keep their content, at any path, as the service's own (${kind})`, async function () {
      if (kind === 'image' && !mounts) this.skip();
      for (const path of ['/data', '/srv/files', '/opt/x/y', '/var/lib/thing', '/home/me', '/mnt/app/storage']) {
        const mine = await volume(path, kind);
        expect(
          await outputOf(`echo kept > ${path}/file && stat -c '%u' ${path} && id -u && ls ${path}`, [mine]),
        ).to.match(/^(\d+)\n\1\nfile\n$/);
        expect(await outputOf(`cat ${path}/file`, [mine]), path).to.equal('kept\n');
      }
    });
  }

  it('leave no folder in the root that containers share, and hide nothing of the system', async () => {
    const mine = await volume('/private-name', 'folder');
    const other = await volume('/var/lib/thing', 'folder');
    expect(await outputOf('ls -d /private-name /var/lib/thing', [mine, other])).to.equal(
      '/private-name\n/var/lib/thing\n',
    );
    const seen = await outputOf('ls /; ls /var/lib', []);
    expect(seen).not.to.include('private-name');
    expect(seen).not.to.include('thing');
    expect(await outputOf('ls /var/lib', [other])).to.include('dpkg');
  });

  it('refuse to be written past their size, and end with nothing left on the host', async function () {
    if (!mounts) this.skip();
    const mine = await volume('/data', 'image');
    const output = await outputOf(
      'head -c 200000000 /dev/zero > /data/big; echo ended; df -B1 --output=size /data | tail -1',
      [mine],
    );
    expect(output).to.include('No space left on device');
    expect(Number(output.trim().split('\n').at(-1))).to.be.within(BYTES * 0.8, BYTES);
    await eventually('no loop device is left', async () => loopDevices().length === 0);
  });

  it('have one exclusive user at a time; a run may use them beside it', async function () {
    this.timeout(90_000);
    const mine = await volume('/data', mounts ? 'image' : 'folder');
    const first = await start('echo one > /data/file; sleep 60', [mine]);
    await sleep(300);
    expect(await outputOf('cat /data/file', [{ ...mine, exclusive: false }])).to.equal('one\n');
    const refused = await start('echo two > /data/file', [mine]).then(
      () => '',
      (error: Error) => error.message,
    );
    expect(refused).to.include('another replica still uses a volume');
    await ground.sandbox.stop(first.spec.id, first.running, 0);
    expect(await outputOf('cat /data/file', [mine])).to.equal('one\n');
  });

  it('grow: while they are mounted if the host permits that, else before the next start', async function () {
    if (!mounts) this.skip();
    const mine = await volume('/data', 'image');
    const size = 'df -B1 --output=size /data | tail -1';
    const first = await start('echo kept > /data/file; sleep 60', [mine]);
    expect(await extendImage(mine.folder, 2 * BYTES)).to.equal(true);
    const online = await growMounted(mine.folder, first.running.pid);
    if (online) expect(await extendImage(mine.folder, 2 * BYTES)).to.equal(false);
    await ground.sandbox.stop(first.spec.id, first.running, 0);
    await eventually('no loop device is left', async () => loopDevices().length === 0);
    const grows = await extendImage(mine.folder, 2 * BYTES);
    expect(grows).to.equal(!online);
    const output = await outputOf(`cat /data/file; ${size}`, [{ ...mine, grows }]);
    expect(output.split('\n')[0]).to.equal('kept');
    expect(Number(output.trim().split('\n').at(-1))).to.be.greaterThan(1.7 * BYTES);
    expect(await extendImage(mine.folder, 2 * BYTES)).to.equal(false);
  });

  it('are not taken for what tenants put there: a link in place of a folder is not followed', async function () {
    if (!isRoot()) this.skip();
    const mine = await volume('/data', mounts ? 'image' : 'folder');
    await outputOf('ln -s /etc/passwd /data/link; mkdir /data/deep', [mine]);
    expect(await outputOf('readlink /data/link', [mine])).to.equal('/etc/passwd\n');
    expect(spawnSync('stat', ['-c', '%u', '/etc/passwd'], { encoding: 'utf8' }).stdout).to.equal('0\n');
  });
});
