import { createHash, type Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { pipeline, promises, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { type Pack, pack } from 'tar-stream';
import type { ServiceKind } from '../../shared/services/model.js';
import { BackupError } from '../failures/explained-errors.js';
import { EncryptArchive } from './archive-cipher.js';
import { megabytes } from './work-folders.js';

/** Name of the last entry of an archive. An archive without it is incomplete. */
export const MANIFEST = 'manifest.json';

const READ_BYTES = 256 * 1024;
export const MAX_ENTRIES = 1_000_000;
/** Maximum total length of the entries' names, in characters. Very deep folders could otherwise use up the memory. */
const MAX_NAME_CHARACTERS = 64 * 1024 * 1024;

export interface Manifest {
  format: 1;
  kind: ServiceKind;
  version: string;
  serviceId: string;
  backupId: string;
  createdAt: string;
  /** Information that the check or the restore needs: WAL segments, databases, keys, volumes. */
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

  /** `maxBytes` limits the sum of the sizes of all entries, because a sparse file may be larger than any disk. */
  constructor(maxBytes = Number.POSITIVE_INFINITY) {
    this.#maxBytes = maxBytes;
  }

  /** Returns the compressed and encrypted archive. The caller reads it while the entries are being written. */
  stream(key: Buffer, sealedKey: Buffer): Readable {
    // The `Pack` class of tar-stream 3 is not a stream of Node.js, so it is converted here.
    const plain = Readable.from(this.#pack, { objectMode: false });
    return pipeline(plain, createGzip({ level: 1 }), new EncryptArchive(key, sealedKey), () => {});
  }

  addFolder(name: string): void {
    this.#admit(name, 0);
    this.#folders.push(name);
  }

  /** Adds a file with its current size, and closes it. Zeros pad the entry if the file shrinks meanwhile. */
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

  /** Adds content of a fixed size. `read` returns the piece at a position; it is empty if the content has shrunk. */
  async addContent(name: string, size: number, read: (position: number) => Promise<Buffer>): Promise<void> {
    await this.#add(name, size, contentOf(size, read));
  }

  addText(name: string, content: string): Promise<void> {
    return this.addBytes(name, Buffer.from(content));
  }

  async addBytes(name: string, content: Buffer): Promise<void> {
    await this.#add(name, content.length, [content]);
  }

  /** Writes the manifest, which completes the archive. */
  async finish(about: Omit<Manifest, 'format' | 'folders' | 'files'>): Promise<Manifest> {
    const manifest: Manifest = { format: 1, ...about, folders: this.#folders, files: this.#files };
    const content = Buffer.from(JSON.stringify(manifest));
    await this.#write(MANIFEST, content.length, [content]);
    this.#pack.finalize();
    return manifest;
  }

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
    await promises.pipeline(content, this.#pack.entry({ name, size, mode: 0o600 }));
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
    // If the piece is empty, the file became shorter. Zeros pad the entry, and recovery replays the change from the
    // WAL.
    const chunk = (piece.length === 0 ? Buffer.alloc(READ_BYTES) : piece).subarray(0, size - position);
    position += chunk.length;
    yield chunk;
  }
}

export function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException | null)?.code ?? '');
}
