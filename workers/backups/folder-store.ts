import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { unlessAbsent } from '../../shared/core/exists.js';
import { BackupError } from '../failures/explained-errors.js';
import type { BackupStore, StoredObject } from './backup-store.js';

const PARTIAL = '.partial';

/** Archives in `DATA_DIR/backups`, with a folder per service. Names of unpublished archives end with `.partial`. */
export class FolderStore implements BackupStore {
  readonly id: string;
  readonly #folder: string;

  constructor(dataDir: string, hostId: string) {
    this.id = `folder:${hostId}`;
    this.#folder = join(dataDir, 'backups');
  }

  async write(name: string, archive: Readable, signal: AbortSignal): Promise<number> {
    const path = this.#path(name) + PARTIAL;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const file = await open(path, 'w', 0o600);
    let size = 0;
    try {
      for await (const chunk of archive as AsyncIterable<Buffer>) {
        signal.throwIfAborted();
        await file.writeFile(chunk);
        size += chunk.length;
      }
      // A completed backup must survive a power failure.
      await file.sync();
      return size;
    } catch (error) {
      archive.destroy();
      await rm(path, { force: true });
      throw error;
    } finally {
      await file.close();
    }
  }

  async read(name: string): Promise<Readable> {
    for (const path of [this.#path(name), this.#path(name) + PARTIAL]) {
      const found = await unlessAbsent(stat(path));
      if (found !== null) return createReadStream(path, { highWaterMark: 256 * 1024 });
    }
    throw new BackupError('the archive is not in the backup store any more');
  }

  async publish(name: string): Promise<void> {
    const path = this.#path(name);
    await rename(path + PARTIAL, path);
    await syncFolder(dirname(path));
  }

  async remove(name: string): Promise<void> {
    const path = this.#path(name);
    await rm(path, { force: true });
    await rm(path + PARTIAL, { force: true });
    // Removes the service's folder if this was its last archive.
    await rmdir(dirname(path)).catch((error: NodeJS.ErrnoException) => {
      if (!['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(error.code ?? '')) throw error;
    });
  }

  async list(prefix: string): Promise<StoredObject[]> {
    const found: StoredObject[] = [];
    for (const service of await namesIn(this.#folder)) {
      if (!prefix.startsWith(service) && !service.startsWith(prefix)) continue;
      for (const file of await namesIn(join(this.#folder, service))) {
        const name = `${service}/${file.endsWith(PARTIAL) ? file.slice(0, -PARTIAL.length) : file}`;
        if (!name.startsWith(prefix)) continue;
        const details = await stat(join(this.#folder, service, file)).catch(() => null);
        if (details !== null) found.push({ name, changedAt: details.mtime });
      }
    }
    return found;
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  });
}

/** Syncs a folder, so that a rename in it survives a power failure. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
