import { spawnSync } from 'node:child_process';
import {
  chmod,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { isRoot, ownDirectory, uidOf } from '../../../workers/sandbox/service-users.js';
import { canMountImages, imageUsedBytes, makeImage } from '../../../workers/volumes/volume-image.js';
import type { VolumeContent } from '../../../workers/volumes/volume-program.js';
import { type PackReport, packVolume, unpackVolume, verifyTar } from '../../../workers/volumes/volume-tar.js';

const USER = 4711;
const NEVER = new AbortController().signal;
const FIXED = new Date('2026-01-02T03:04:05.678Z');

describe('The copy of a volume', function () {
  this.timeout(60_000);
  let dataDir: string;
  let content: VolumeContent;
  before(function () {
    if (process.platform !== 'linux') this.skip();
  });
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'ranvier-tar-'));
    content = await folder('volume');
  });
  afterEach(() => rm(dataDir, { recursive: true, force: true }));

  const uid = isRoot() ? uidOf(USER) : (process.getuid?.() ?? 0);
  async function folder(name: string): Promise<VolumeContent> {
    await mkdir(join(dataDir, name, 'data'), { recursive: true });
    return { folder: join(dataDir, name), uid, ownersDiffer: false };
  }
  const pathOf = (name: string, of = content) => join(of.folder, 'data', name);
  const give = () => ownDirectory(pathOf('.'), USER);

  async function pack(of = content, onPiece?: () => Promise<void>): Promise<PackReport & { archive: Buffer }> {
    const pieces: Buffer[] = [];
    const options = { listFile: join(dataDir, 'list'), signal: NEVER };
    const report = await packVolume(of, options, async (piece) => {
      pieces.push(piece);
      await onPiece?.();
    });
    return { ...report, archive: Buffer.concat(pieces) };
  }
  async function unpack(archive: Buffer, into: VolumeContent): Promise<void> {
    const tar = await unpackVolume(into, NEVER);
    await tar.write(archive);
    await tar.end();
  }

  it('has the mode, the times and the owner of each file, links, holes and attributes', async () => {
    await writeFile(pathOf('plain'), 'one');
    await utimes(pathOf('plain'), FIXED, FIXED);
    await link(pathOf('plain'), pathOf('second name'));
    await symlink('/etc/passwd', pathOf('outside'));
    await symlink('plain', pathOf('inside'));
    await mkdir(pathOf('deep/er'), { recursive: true });
    await writeFile(pathOf('deep/er/naïve\nname'), 'two');
    await writeFile(pathOf('holes'), 'start');
    await truncate(pathOf('holes'), 4_000_000_000);
    await writeFile(pathOf('secret'), 'hidden');
    const attribute = spawnSync('python3', [
      '-c',
      `import os,sys; os.setxattr(sys.argv[1], 'user.colour', b'\\xff\\x00red')`,
      pathOf('plain'),
    ]);
    await give();
    await chmod(pathOf('secret'), 0);
    await chmod(pathOf('deep'), 0o500);
    const { archive, changed, skipped } = await pack();
    expect({ changed, skipped }).to.deep.equal({ changed: 0, skipped: 0 });
    expect(archive.length).to.be.lessThan(1_000_000);

    const copy = await folder('copy');
    await unpack(archive, copy);
    const plain = await stat(pathOf('plain', copy));
    expect(plain.mtimeMs).to.equal(FIXED.getTime());
    expect(plain.uid).to.equal(uid);
    expect(plain.nlink).to.equal(2);
    expect((await stat(pathOf('second name', copy))).ino).to.equal(plain.ino);
    expect(await readlink(pathOf('outside', copy))).to.equal('/etc/passwd');
    expect(await readlink(pathOf('inside', copy))).to.equal('plain');
    expect(await readFile(pathOf('deep/er/naïve\nname', copy), 'utf8')).to.equal('two');
    expect((await stat(pathOf('deep', copy))).mode & 0o7777).to.equal(0o500);
    expect((await stat(pathOf('secret', copy))).mode & 0o7777).to.equal(0);
    const holes = await stat(pathOf('holes', copy));
    expect(holes.size).to.equal(4_000_000_000);
    expect(holes.blocks).to.be.lessThan(100);
    if (attribute.status === 0) {
      const read = spawnSync('python3', [
        '-c',
        `import os,sys; sys.stdout.buffer.write(os.getxattr(sys.argv[1], 'user.colour'))`,
        pathOf('plain', copy),
      ]);
      expect([...read.stdout]).to.deep.equal([...Buffer.from([0xff, 0, 0x72, 0x65, 0x64])]);
    }
    await chmod(pathOf('deep'), 0o700);
    await chmod(pathOf('deep', copy), 0o700);
  });

  it('leaves out pipes, sockets and devices, and says how many', async () => {
    await writeFile(pathOf('kept'), 'kept');
    spawnSync('mkfifo', [pathOf('pipe'), pathOf('line\nbreak'), pathOf('naïve end ')]);
    await link(pathOf('pipe'), pathOf('second pipe'));
    if (isRoot()) spawnSync('mknod', [pathOf('null'), 'c', '1', '3']);
    const server = createServer().listen(pathOf('socket'));
    await new Promise((resolve) => server.once('listening', resolve));
    try {
      await give();
      const { archive, skipped } = await pack();
      const hasDevice = await lstat(pathOf('null')).then(
        () => true,
        () => false,
      );
      expect(skipped).to.equal(hasDevice ? 6 : 5);
      const copy = await folder('copy');
      await unpack(archive, copy);
      expect(await readdir(pathOf('.', copy))).to.deep.equal(['kept']);
    } finally {
      server.close();
    }
  });

  it('is made while files change and vanish, and says how many did', async () => {
    for (let i = 0; i < 40; i++) await writeFile(pathOf(`file-${i}`), Buffer.alloc(400_000, 'x'));
    await give();
    let pieces = 0;
    const { archive, changed } = await pack(content, async () => {
      pieces += 1;
      if (pieces !== 2) return;
      for (let i = 0; i < 40; i++) {
        if (i % 2 === 0) await rm(pathOf(`file-${i}`), { force: true });
        else await truncate(pathOf(`file-${i}`), 10);
      }
    });
    expect(changed).to.be.greaterThan(0);
    const copy = await folder('copy');
    await unpack(archive, copy);
  });

  it('of a damaged archive fails with the words of tar', async () => {
    await writeFile(pathOf('file'), Buffer.alloc(100_000, 'x'));
    await give();
    const { archive } = await pack();
    archive.fill(0xff, 0, 2_000);
    const tar = await verifyTar(NEVER);
    await tar.write(archive);
    const error = await tar.end().then(
      () => '',
      (reason: Error) => reason.message,
    );
    expect(error).to.match(/^tar failed \(exit code 2\): tar: /);
  });

  it('is that of the file system in an image, which nobody has mounted; one that is too small is refused', async function () {
    if (!(await canMountImages(dataDir))) this.skip();
    await writeFile(pathOf('file'), 'in a folder');
    await writeFile(pathOf('large'), Buffer.alloc(40_000_000, 'x'));
    await give();
    const { archive } = await pack();
    const image = { folder: join(dataDir, 'image'), uid, ownersDiffer: false };
    await mkdir(image.folder);
    await makeImage(image.folder, 96_000_000);
    await unpack(archive, image);
    // The used bytes are those of the files and their folders.
    expect(await imageUsedBytes(image.folder)).to.be.within(40_000_000, 41_000_000);
    const again = await pack(image);
    const copy = await folder('copy');
    await unpack(again.archive, copy);
    expect(await readdir(pathOf('.', copy))).to.have.members(['file', 'large']);
    expect(await readFile(pathOf('file', copy), 'utf8')).to.equal('in a folder');
    expect((await stat(pathOf('file', copy))).uid).to.equal(uid);

    const small = { folder: join(dataDir, 'small'), uid, ownersDiffer: false };
    await mkdir(small.folder);
    await makeImage(small.folder, 32_000_000);
    const error = await unpack(archive, small).then(
      () => '',
      (reason: Error) => reason.message,
    );
    expect(error).to.contain('too small for the content of the backup');
  });
});
