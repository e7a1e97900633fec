import { execFile, spawnSync } from 'node:child_process';
import { chown, mkdir, mkdtemp, readFile, rm, stat, statfs, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { removeTree } from '../../../workers/core/remove-folders.js';
import type { DetachedProcess, SandboxSpec, SandboxVolume } from '../../../workers/sandbox/sandbox.js';
import { isRoot, ownDirectory } from '../../../workers/sandbox/service-users.js';
import { canMountImages, extendImage, growMounted, makeImage } from '../../../workers/volumes/volume-image.js';
import { eventually } from '../../support/processes.js';
import { LEVELS, SandboxFixture, USER } from './support.js';

const BYTES = 64_000_000;

describe('Volumes in a sandbox', () => {
  let fixture: SandboxFixture;
  let mounts = false;
  before(async function () {
    if (LEVELS[0] === 'none') this.skip();
    fixture = await SandboxFixture.create(LEVELS[0]);
    mounts = await canMountImages(fixture.dataDir);
  });
  after(() => fixture?.destroy());

  let count = 0;
  async function volume(path: string, kind: 'image' | 'folder'): Promise<SandboxVolume> {
    count += 1;
    const folder = join(fixture.dataDir, 'volumes', `volume-${count}`);
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
  async function start(command: string, volumes: SandboxVolume[], image?: string): Promise<Started> {
    const spec = await fixture.spec(command, { volumes, ...(image === undefined ? {} : { image }) });
    const log = join(fixture.dataDir, `${spec.id}.log`);
    const running = await fixture.sandbox.start(spec, {
      logFile: log,
      exitFile: join(fixture.dataDir, `${spec.id}.exit`),
    });
    return { spec, running, output: () => readFile(log, 'utf8') };
  }
  async function outputOf(command: string, volumes: SandboxVolume[], image?: string): Promise<string> {
    const { running, output, spec } = await start(command, volumes, image);
    while (await fixture.sandbox.isAlive(running)) await sleep(20);
    await fixture.sandbox.stop(spec.id, running, 0);
    return output();
  }
  async function release(links: Record<string, string>): Promise<string> {
    count += 1;
    const folder = join(fixture.dataDir, `release-${count}`);
    await mkdir(join(folder, 'data', 'inner'), { recursive: true });
    await writeFile(join(folder, 'data', 'inner', 'file'), 'text');
    for (const [name, target] of Object.entries(links)) await symlink(target, join(folder, name));
    return folder;
  }
  async function refusal(volumes: SandboxVolume[], image?: string): Promise<string> {
    return start('true', volumes, image).then(
      () => 'it was started',
      (error: Error) => error.message,
    );
  }
  const loopDevices = () =>
    spawnSync('losetup', ['-n', '-O', 'BACK-FILE'], { encoding: 'utf8' })
      .stdout.split('\n')
      .filter((line) => line.includes(fixture.dataDir));

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

  it('are not made or extended if that takes the room that is kept for the platform', async function () {
    if (!mounts) this.skip();
    const disk = join(fixture.dataDir, 'small-disk');
    await mkdir(disk);
    const make = 'truncate -s 200M "$1.img" && mkfs.ext4 -q -F -m 0 "$1.img" && mount -o loop "$1.img" "$1"';
    await promisify(execFile)('/bin/sh', ['-c', make, 'make', disk]);
    try {
      await makeImage(disk, BYTES);
      const problem = await extendImage(disk, 205_000_000).catch(String);
      expect(problem).to.match(/no room for a volume of 205000000 bytes.* kept for the platform/);
      expect((await stat(join(disk, 'image'))).size).to.equal(BYTES);
      await rm(join(disk, 'image'));
      const { bsize, blocks, bavail } = await statfs(disk);
      const each = Math.floor(((bavail - 0.025 * blocks) * bsize) / 3);
      const folders = ['a', 'b', 'c'].map((name) => join(disk, name));
      for (const folder of folders) await mkdir(folder);
      const made = await Promise.allSettled(folders.map((folder) => makeImage(folder, each)));
      expect(made.filter(({ status }) => status === 'rejected')).to.have.lengthOf(1);
    } finally {
      await promisify(execFile)('umount', [disk]);
    }
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
    await fixture.sandbox.stop(first.spec.id, first.running, 0);
    expect(await outputOf('cat /data/file', [mine])).to.equal('one\n');
  });

  it('grow: while they are mounted if the host permits that, else before the next start', async function () {
    if (!mounts) this.skip();
    const mine = await volume('/data', 'image');
    const size = 'df -B1 --output=size /data | tail -1';
    const first = await start('echo kept > /data/file; sleep 60', [mine]);
    expect(await extendImage(mine.folder, 2 * BYTES)).to.equal(true);
    const another = { pid: first.running.pid, startedAt: 'earlier' };
    expect(await growMounted(mine.folder, another), 'by another process with its number').to.equal(false);
    expect(await extendImage(mine.folder, 2 * BYTES)).to.equal(true);
    const online = await growMounted(mine.folder, first.running);
    if (online) expect(await extendImage(mine.folder, 2 * BYTES)).to.equal(false);
    await fixture.sandbox.stop(first.spec.id, first.running, 0);
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

  it('keep a folder of the host closed whose inner folder they are mounted on', async function () {
    if (!isRoot()) this.skip();
    const secret = await mkdtemp('/opt/secret-');
    try {
      await writeFile(join(secret, 'file'), 'text');
      await chown(secret, 4_343, 4_344);
      const mine = await volume(`${secret}/v`, 'folder');
      expect(await outputOf(`stat -c '%a %u %g' ${secret}; cat ${secret}/file`, [mine])).to.match(
        /^700 4343 4344\n.*denied\n$/,
      );
    } finally {
      await removeTree(secret);
    }
  });

  it('are mounted in the folder of the host in which DATA_DIR is, and show nothing of that', async function () {
    if (!isRoot()) this.skip();
    const usual = fixture;
    fixture = await SandboxFixture.create(LEVELS[0], '/var/lib');
    try {
      const mine = await volume('/var/lib/thing', 'folder');
      const seen = `[ ! -e ${fixture.dataDir}/volumes ] || echo seen`;
      const { stdout: mode } = spawnSync('stat', ['-c', '%a %u', '/var/lib'], { encoding: 'utf8' });
      expect(
        await outputOf(`stat -c '%a %u' /var/lib; ${seen}; echo kept > /var/lib/thing/file; ls /var/lib | grep dpkg`, [
          mine,
        ]),
      ).to.equal(`${mode}dpkg\n`);
      expect(await outputOf(`${seen}; cat /var/lib/thing/file`, [mine])).to.equal('kept\n');
    } finally {
      await fixture.destroy();
      fixture = usual;
    }
  });

  it('are not mounted on a link of the release, of the system or of another volume', async () => {
    const image = await release({ l: '.', '..l': '.', d: 'data' });
    const mine = await volume('/mnt/app/data', 'folder');
    await outputOf('mkdir /mnt/app/data/d', [mine]);
    const at = (path: string) => ({ ...mine, path });
    for (const path of ['/mnt/app/l', '/mnt/app/..l', '/mnt/app/l/new/x']) {
      expect(await refusal([at(path)], image)).to.match(/ \/mnt\/app\/(\.\.)?l is a link/);
    }
    expect(await refusal([at('/mnt/app/data/inner/file')], image)).to.include('/mnt/app/data/inner/file is a file');
    expect(await refusal([at('/bin/tools')])).to.include('/bin is a link');
    const other = await volume('/mnt/app/d/d', 'folder');
    expect(await refusal([mine, other], image)).to.include('/mnt/app/d is a link');
    expect(await refusal([mine, { ...other, path: '/mnt/app/data/d' }], image)).to.include('in the volume at');
  });

  it("leave the release's files to the service, and those of a volume in it as they are", async () => {
    const image = await release({});
    const mine = await volume('/mnt/app/storage', 'folder');
    const owners = 'echo x > storage/file; id -u; stat -c %u . data data/inner data/inner/file storage storage/file';
    expect(await outputOf(owners, [mine], image)).to.match(/^(\d+)\n(\1\n){6}$/);
  });
});
