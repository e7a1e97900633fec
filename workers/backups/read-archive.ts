import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline, promises, type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import { type Entry, extract } from 'tar-stream';
import { errorMessage } from '../../shared/core/error-registry.js';
import { BackupError, ExplainedError } from '../failures/explained-errors.js';
import { DecryptArchive } from './archive-cipher.js';
import { isDiskFull, MANIFEST, type Manifest } from './backup-archive.js';
import { megabytes } from './work-folders.js';

const MAX_MANIFEST_BYTES = 512 * 1024 * 1024;

export interface ReadOptions {
  key: Buffer;
  signal: AbortSignal;
  maxBytes?: number;
  /** Consumes the content of a file. Called for one file after another. */
  take: (name: string, content: AsyncIterable<Buffer>) => Promise<void>;
}

/**
 * Reads an archive and compares every file with the manifest. Throws a `BackupError`, or what `take` throws. The
 * content that `take` got is valid only if the promise resolves.
 */
export async function readArchive(
  archive: Readable,
  { key, signal, maxBytes = Number.POSITIVE_INFINITY, take }: ReadOptions,
): Promise<Manifest> {
  let bytes = 0;
  const entries = extract();
  // If one of these streams fails, `entries` fails with its error.
  pipeline(archive, new DecryptArchive(key), createGunzip(), entries, () => {});
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
      else found.set(name, await takeFile(entry, name, take, signal));
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ExplainedError || isDiskFull(error)) throw error;
    throw new BackupError(`the archive cannot be read: ${errorMessage(error)}`);
  }
  if (manifest === null) throw new BackupError('the archive is not whole: it has no manifest');
  compare(manifest, found);
  return manifest;
}

/** Unpacks an archive into an empty folder. Throws as `readArchive` does. */
export async function unpackArchive(
  archive: Readable,
  key: Buffer,
  folder: string,
  signal: AbortSignal,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<Manifest> {
  const take = (name: string, content: AsyncIterable<Buffer>) => unpackFile(content, join(folder, name));
  const manifest = await readArchive(archive, { key, signal, maxBytes, take });
  for (const name of manifest.folders) {
    if (!isInside(name)) throw new BackupError(`the archive holds ${name}, which is no folder inside`);
    await mkdir(join(folder, name), { recursive: true, mode: 0o700 });
  }
  return manifest;
}

async function takeFile(
  entry: Entry,
  name: string,
  take: ReadOptions['take'],
  signal: AbortSignal,
): Promise<{ size: number; sha256: string }> {
  const hash = createHash('sha256');
  let size = 0;
  async function* content(): AsyncGenerator<Buffer> {
    for await (const chunk of entry as AsyncIterable<Buffer>) {
      signal.throwIfAborted();
      hash.update(chunk);
      size += chunk.length;
      yield chunk;
    }
  }
  await take(name, content());
  return { size, sha256: hash.digest('hex') };
}

async function unpackFile(content: AsyncIterable<Buffer>, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await promises.pipeline(content, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
}

async function readManifest(entry: Entry, size: number): Promise<Manifest> {
  if (size > MAX_MANIFEST_BYTES) throw new BackupError('the manifest of the archive is too large');
  return JSON.parse(await text(entry)) as Manifest;
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

function isInside(name: string): boolean {
  return (
    name !== '' &&
    !name.startsWith('/') &&
    !name.includes('\0') &&
    name.split('/').every((part) => !['', '.', '..'].includes(part))
  );
}
