import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createGunzip, createGzip } from 'node:zlib';
import { type Entry, type Extract, extract, type Pack, pack } from 'tar-stream';
import type { BackedUpKind } from '../../shared/backups/model.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { BackupError } from '../failures/explained-errors.js';
import { DecryptArchive, EncryptArchive } from './archive-cipher.js';
import { megabytes } from './work-folders.js';

/** The last entry of an archive. An archive without it is incomplete. */
const MANIFEST = 'manifest.json';
type Sink = ReturnType<Pack['entry']>;

const READ_BYTES = 256 * 1024;
const MAX_MANIFEST_BYTES = 512 * 1024 * 1024;
export const MAX_ENTRIES = 1_000_000;
/** Bounds the length of all names together: paths of very deep folders would fill the memory. */
const MAX_NAME_CHARACTERS = 64 * 1024 * 1024;

/** The content of an archive, and what a check of it must find. */
export interface Manifest {
  format: 1;
  kind: BackedUpKind;
  version: string;
  serviceId: string;
  backupId: string;
  createdAt: string;
  /** Facts about the copy that its check compares: segments, databases, keys. */
  facts: object;
  folders: string[];
  files: { name: string; size: number; sha256: string }[];
}

/** Writes the entries of an archive, one after another. */
export class ArchiveWriter {
  readonly #pack: Pack = pack();
  readonly #folders: string[] = [];
  readonly #files: Manifest['files'] = [];
  readonly #maxBytes: number;
  #bytes = 0;
  #nameCharacters = 0;

  /** `maxBytes` bounds the sum of the sizes that entries claim. A sparse file may claim more than any disk has. */
  constructor(maxBytes = Number.POSITIVE_INFINITY) {
    this.#maxBytes = maxBytes;
  }

  /** Returns the compressed and encrypted archive. The caller reads it while the entries are written. */
  stream(key: Buffer, sealedKey: Buffer): Readable {
    // The streams of tar-stream 3 are not Node.js streams.
    const plain = Readable.from(this.#pack, { objectMode: false });
    return pipeline(plain, createGzip({ level: 1 }), new EncryptArchive(key, sealedKey), () => {});
  }

  addFolder(name: string): void {
    this.#admit(name, 0);
    this.#folders.push(name);
  }

  /** Adds a file with its present size, and closes it. If the file shrinks meanwhile, zeros fill the rest. */
  async addFile(name: string, file: FileHandle, signal: AbortSignal): Promise<void> {
    try {
      const { size } = await file.stat();
      const read = async (position: number) => {
        signal.throwIfAborted();
        const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, size - position));
        return buffer.subarray(0, (await file.read(buffer, 0, buffer.length, position)).bytesRead);
      };
      await this.addContent(name, size, read);
    } finally {
      await file.close();
    }
  }

  /** Adds content of a fixed size. `read` returns a piece from a position; an empty piece means that the content ends early. */
  async addContent(name: string, size: number, read: (position: number) => Promise<Buffer>): Promise<void> {
    await this.#add(name, size, contentOf(size, read));
  }

  async addText(name: string, content: string): Promise<void> {
    const bytes = Buffer.from(content);
    await this.#add(name, bytes.length, [bytes]);
  }

  /** Writes the manifest, which makes the archive whole. */
  async finish(about: Omit<Manifest, 'format' | 'folders' | 'files'>): Promise<Manifest> {
    const manifest: Manifest = { format: 1, ...about, folders: this.#folders, files: this.#files };
    await this.#write(MANIFEST, Buffer.byteLength(JSON.stringify(manifest)), [Buffer.from(JSON.stringify(manifest))]);
    this.#pack.finalize();
    return manifest;
  }

  /** Ends the stream with an error. */
  fail(error: unknown): void {
    this.#pack.destroy(error instanceof Error ? error : new Error(String(error)));
  }

  async #add(name: string, size: number, content: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<void> {
    this.#admit(name, size);
    const hash = createHash('sha256');
    await this.#write(name, size, hashed(content, hash));
    this.#files.push({ name, size, sha256: hash.digest('hex') });
  }

  #admit(name: string, size: number): void {
    this.#bytes += size;
    this.#nameCharacters += name.length;
    if (this.#bytes > this.#maxBytes) {
      const most = megabytes(this.#maxBytes);
      throw new BackupError(`the data claims more than ${most}: it grew while it was copied, or files have holes`);
    }
    if (this.#files.length + this.#folders.length >= MAX_ENTRIES) throw tooManyEntries(MAX_ENTRIES);
    if (this.#nameCharacters > MAX_NAME_CHARACTERS) {
      throw new BackupError(
        'the names of its files and folders are too long together; remove what the server did not make',
      );
    }
  }

  async #write(name: string, size: number, content: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<void> {
    let ended: (error?: Error | null) => void = () => {};
    const end = new Promise<void>((resolve, reject) => {
      ended = (error) => (error ? reject(error) : resolve());
    });
    // The promise may reject before anything awaits it.
    end.catch(() => undefined);
    const entry = this.#pack.entry({ name, size, mode: 0o600 }, ended);
    for await (const chunk of content) {
      if (entry.write(chunk)) continue;
      await Promise.race([drained(entry), end]);
    }
    entry.end();
    await end;
  }
}

export function tooManyEntries(most: number): BackupError {
  return new BackupError(`the data has more than ${most} files and folders; remove what the server did not make`);
}

async function* hashed(content: AsyncIterable<Buffer> | Iterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const chunk of content) {
    hash.update(chunk);
    yield chunk;
  }
}

async function* contentOf(size: number, read: (position: number) => Promise<Buffer>): AsyncGenerator<Buffer> {
  let position = 0;
  while (position < size) {
    const piece = await read(position);
    // The file became shorter meanwhile. Recovery replays that change from PostgreSQL's log.
    const chunk = (piece.length === 0 ? Buffer.alloc(READ_BYTES) : piece).subarray(0, size - position);
    position += chunk.length;
    yield chunk;
  }
}

/**
 * Unpacks an archive into an empty folder and compares every file with the manifest. Throws a `BackupError` if the
 * archive is damaged or incomplete, has an entry that the manifest does not name, or is larger than `maxBytes`.
 */
export async function unpackArchive(
  archive: Readable,
  key: Buffer,
  folder: string,
  signal: AbortSignal,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<Manifest> {
  let bytes = 0;
  const entries = extract();
  const plain = pipeline(archive, new DecryptArchive(key), createGunzip(), () => {});
  const feed = pump(plain, entries);
  const found = new Map<string, { size: number; sha256: string }>();
  let manifest: Manifest | null = null;
  try {
    for await (const entry of entries) {
      signal.throwIfAborted();
      const { name, type, size = 0 } = entry.header;
      if (manifest !== null) throw new BackupError('the archive goes on after its manifest');
      if (type !== 'file' || !isInside(name))
        throw new BackupError(`the archive holds ${name}, which is no plain file`);
      if (name !== MANIFEST) bytes += size;
      if (bytes > maxBytes)
        throw new BackupError(`the archive unpacks to more than ${megabytes(maxBytes)}, for which there is no room`);
      if (name === MANIFEST) manifest = await readManifest(entry, size);
      else found.set(name, await unpackFile(entry, join(folder, name), signal));
    }
    await feed;
  } catch (error) {
    plain.destroy();
    signal.throwIfAborted();
    if (error instanceof BackupError || isDiskFull(error)) throw error;
    throw new BackupError(`the archive cannot be read: ${errorMessage(error)}`);
  }
  if (manifest === null) throw new BackupError('the archive is not whole: it has no manifest');
  compare(manifest, found);
  for (const name of manifest.folders) {
    if (!isInside(name)) throw new BackupError(`the archive holds ${name}, which is no folder inside`);
    await mkdir(join(folder, name), { recursive: true, mode: 0o700 });
  }
  return manifest;
}

/** Pipes a Node.js stream into a stream of tar-stream, which has another interface. */
async function pump(from: Readable, to: Extract): Promise<void> {
  try {
    for await (const chunk of from) {
      if (to.destroyed) return;
      if (!to.write(chunk)) await drained(to);
    }
    to.end();
  } catch (error) {
    to.destroy(error as Error);
  }
}

function drained(stream: Extract | Sink): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done);
      stream.off('close', done);
      resolve();
    };
    stream.on('drain', done);
    stream.on('close', done);
  });
}

async function readManifest(entry: Entry, size: number): Promise<Manifest> {
  if (size > MAX_MANIFEST_BYTES) throw new BackupError('the manifest of the archive is too large');
  return JSON.parse(await text(entry)) as Manifest;
}

async function unpackFile(entry: Entry, path: string, signal: AbortSignal): Promise<{ size: number; sha256: string }> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const file = await open(path, 'wx', 0o600);
  const hash = createHash('sha256');
  let size = 0;
  try {
    for await (const chunk of entry as AsyncIterable<Buffer>) {
      signal.throwIfAborted();
      hash.update(chunk);
      await file.writeFile(chunk);
      size += chunk.length;
    }
  } finally {
    await file.close();
  }
  return { size, sha256: hash.digest('hex') };
}

function compare(manifest: Manifest, found: ReadonlyMap<string, { size: number; sha256: string }>): void {
  for (const { name, size, sha256 } of manifest.files) {
    const file = found.get(name);
    if (file === undefined) throw new BackupError(`the archive is not whole: ${name} is missing`);
    if (file.size !== size || file.sha256 !== sha256) throw new BackupError(`${name} is not what the manifest says`);
  }
  if (found.size !== manifest.files.length)
    throw new BackupError('the archive holds files that the manifest does not name');
}

/** Returns true for a relative path without `.`, `..` or empty parts. */
function isInside(name: string): boolean {
  return (
    name !== '' &&
    !name.startsWith('/') &&
    !name.includes('\0') &&
    name.split('/').every((part) => !['', '.', '..'].includes(part))
  );
}

/** Returns true if an error means that the disk is full. */
export function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException | null)?.code ?? '');
}
