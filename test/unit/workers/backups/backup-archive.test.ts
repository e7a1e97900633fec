import { createHash, randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createGzip } from 'node:zlib';
import { expect } from 'chai';
import { pack } from 'tar-stream';
import { EncryptArchive, newArchiveKey } from '../../../../workers/backups/archive-cipher.js';
import { ArchiveWriter, type Manifest } from '../../../../workers/backups/backup-archive.js';
import { unpackArchive } from '../../../../workers/backups/read-archive.js';
import { useFolders } from '../../../support/folders.js';

const NEVER = new AbortController().signal;
const SEALED = Buffer.from('the sealed key');
const ABOUT = {
  kind: 'redis',
  version: '',
  serviceId: 'service',
  backupId: 'backup',
  createdAt: '2026-11-22T00:00:00.000Z',
  facts: { keys: 1 },
} as const satisfies Omit<Manifest, 'format' | 'folders' | 'files'>;

describe('An archive', () => {
  const newFolder = useFolders();
  let folder: string;
  const key = newArchiveKey();
  const large = randomBytes(1_000_003);
  let archive: Buffer;
  let targets = 0;

  before(async () => {
    folder = await newFolder();
    await writeFile(join(folder, 'large'), large);
    await writeFile(join(folder, 'empty'), '');
    archive = await write(async (writer) => {
      writer.addFolder('an/empty/folder');
      await writer.addFile('base/large', await open(join(folder, 'large')), NEVER);
      await writer.addFile('empty', await open(join(folder, 'empty')), NEVER);
      await writer.addText('label', 'START');
      await writer.finish(ABOUT);
    });
  });

  async function write(work: (writer: ArchiveWriter) => Promise<void>): Promise<Buffer> {
    const writer = new ArchiveWriter();
    const content = buffer(writer.stream(key, SEALED));
    await work(writer);
    return content;
  }

  async function unpack(
    content: Buffer | Readable,
    withKey = key,
    maxBytes?: number,
  ): Promise<{ target: string; manifest: Manifest }> {
    const target = join(folder, `target-${++targets}`);
    await mkdir(target);
    const source = content instanceof Readable ? content : Readable.from([content]);
    return { target, manifest: await unpackArchive(source, withKey, target, NEVER, maxBytes) };
  }

  const problem = async (work: Promise<unknown>) =>
    work.then(
      () => 'no problem',
      (error: Error) => `${error.name}: ${error.message}`,
    );

  it('gives back what was put in, files, texts and empty folders', async () => {
    const { target, manifest } = await unpack(archive);
    expect((await readFile(join(target, 'base/large'))).equals(large)).to.equal(true);
    expect(await readFile(join(target, 'empty'), 'utf8')).to.equal('');
    expect(await readFile(join(target, 'label'), 'utf8')).to.equal('START');
    expect(await readdir(join(target, 'an/empty/folder'))).to.deep.equal([]);
    expect(manifest).to.deep.include({ format: 1, ...ABOUT });
    expect(manifest.files.map(({ name, size }) => [name, size])).to.deep.equal([
      ['base/large', large.length],
      ['empty', 0],
      ['label', 5],
    ]);
  });

  it('is read in pieces of any size', async () => {
    const pieces = function* () {
      for (let at = 0, size = 1; at < archive.length; at += size, size = (size * 7) % 99_991) {
        yield archive.subarray(at, at + size);
      }
    };
    expect((await unpack(Readable.from(pieces()))).manifest.files).to.have.lengthOf(3);
  });

  it('shows nothing of its content or of the names in it', () => {
    for (const text of ['base/large', 'label', 'START', 'backup']) expect(archive.includes(text), text).to.equal(false);
    expect(archive.subarray(0, 8).toString()).to.equal('RANVIER1');
    expect(archive.includes(SEALED)).to.equal(true);
  });

  it('does not open if a byte of it was changed, if it was cut or extended, or with the key of another one', async () => {
    for (const at of [0, 9, 30, 300_000, archive.length >> 1, archive.length - 1]) {
      const changed = Buffer.from(archive);
      changed[at] = (changed[at] ?? 0) ^ 1;
      const said = await problem(unpack(changed));
      expect(said, `byte ${at}`).to.match(/^BackupError: .*(damaged|no known format|cut)/);
    }
    // Two of the lengths are at the border of a chunk.
    const border = 8 + 2 + SEALED.length + 2 * (256 * 1024 + 16);
    for (const length of [0, 5, 15, border, border + 1, archive.length - 17, archive.length - 1]) {
      const said = await problem(unpack(archive.subarray(0, length)));
      expect(said, `${length} bytes`).to.match(/^BackupError: .*(damaged|cut)/);
    }
    expect(await problem(unpack(Buffer.concat([archive, Buffer.from('x')])))).to.contain('BackupError');
    expect(await problem(unpack(archive, newArchiveKey()))).to.contain('damaged');
  });

  it('does not open if its chunks have changed their places', async () => {
    const first = 8 + 2 + SEALED.length;
    const size = 256 * 1024 + 16;
    const [second, third] = [first + size, first + 2 * size];
    const pieces = [archive.subarray(0, first), archive.subarray(second, third), archive.subarray(first, second)];
    expect(await problem(unpack(Buffer.concat([...pieces, archive.subarray(third)])))).to.contain('damaged');
  });

  function crafted(entries: [name: string, content: string, type?: 'symlink'][]): Promise<Buffer> {
    const tar = pack();
    for (const [name, content, type] of entries) {
      if (type) tar.entry({ name, type, linkname: content });
      else tar.entry({ name }, content);
    }
    tar.finalize();
    return buffer(Readable.from(tar).pipe(createGzip()).pipe(new EncryptArchive(key, SEALED)));
  }

  it('is refused if its files are not exactly those of its manifest', async () => {
    const sha256 = createHash('sha256').update('text').digest('hex');
    const manifest: [string, string] = [
      'manifest.json',
      JSON.stringify({ format: 1, ...ABOUT, folders: [], files: [{ name: 'a', size: 4, sha256 }] }),
    ];
    const whole = [['a', 'text'], manifest] as [string, string][];
    expect(await problem(unpack(await crafted(whole)))).to.equal('no problem');
    for (const [entries, said] of [
      [[['a', 'text']], /has no manifest/],
      [[manifest], /a is missing/],
      [[['a', 'next'], manifest], /a is not what the manifest says/],
      [[['a', 'text'], ['b', 'text'], manifest], /files that the manifest does not name/],
      [[...whole, ['b', 'text']], /goes on after its manifest/],
      [[['a', '/etc/passwd', 'symlink'], manifest], /holds a, which is no plain file/],
    ] as [[string, string, 'symlink'?][], RegExp][]) {
      expect(await problem(unpack(await crafted(entries)))).to.match(said);
    }
  });

  it('ends with an error if what fills it fails, and never looks whole', async () => {
    const writer = new ArchiveWriter();
    const content = problem(buffer(writer.stream(key, SEALED)));
    await writer.addText('label', 'START');
    writer.fail(new Error('the server has gone'));
    expect(await content).to.contain('the server has gone');
  });

  it('keeps the size that a file had when it began, whatever happens to the file meanwhile', async () => {
    const path = join(folder, 'changing');
    await writeFile(path, Buffer.alloc(2_000_000, 'a'));
    const shorter = await write(async (writer) => {
      const added = writer.addFile('changing', await open(path), NEVER);
      await truncate(path, 1000);
      await added;
      await writer.finish(ABOUT);
    });
    const { target } = await unpack(shorter);
    expect((await readFile(join(target, 'changing'))).length).to.be.oneOf([1000, 2_000_000]);
  });

  it('that compresses to little is not unpacked beyond the room for it', async () => {
    const bomb = await write(async (writer) => {
      for (const name of ['a', 'b', 'c']) {
        await writer.addContent(name, 10_000_000, async (at) => Buffer.alloc(Math.min(1_000_000, 10_000_000 - at)));
      }
      await writer.finish(ABOUT);
    });
    expect(bomb.length).to.be.lessThan(1_000_000);
    expect(await problem(unpack(bomb, key, 20_000_000)))
      .to.contain('BackupError')
      .and.to.contain('19.1 MB');
    expect(await readdir(join(folder, `target-${targets}`))).to.deep.equal(['a', 'b']);
    expect(await problem(unpack(bomb, key, 30_000_000))).to.equal('no problem');
  });

  it('unpacks nothing outside of its folder', async () => {
    for (const name of ['../outside', '/outside', 'a/../../outside', 'a//b']) {
      const bad = await write(async (writer) => {
        await writer.addText(name, 'x');
        await writer.finish(ABOUT);
      });
      expect(await problem(unpack(bad)), name).to.contain('BackupError');
    }
  });
});
