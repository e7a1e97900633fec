import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { unlessAbsent } from '../../shared/core/exists.js';
import { renameDurably } from '../core/rename-durably.js';
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
    // `flush` syncs the file, because a completed backup must survive a power failure.
    const file = (await open(path, 'w', 0o600)).createWriteStream({ flush: true });
    try {
      await pipeline(archive, file, { signal });
      return file.bytesWritten;
    } catch (error) {
      await rm(path, { force: true });
      signal.throwIfAborted();
      throw error;
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
    await renameDurably(path + PARTIAL, path);
  }

  async remove(name: string): Promise<void> {
    const path = this.#path(name);
    await rm(path, { force: true });
    await rm(path + PARTIAL, { force: true });
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
