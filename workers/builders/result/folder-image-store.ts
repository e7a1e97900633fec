import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { exists, unlessAbsent } from '../../../shared/core/exists.js';
import type { Logger } from '../../../shared/core/log.js';
import { runLimited } from '../../../shared/core/run-limited.js';
import { discardTree, touch } from '../../core/remove-folders.js';
import { isDataImage } from '../../data/data-builder.js';
import { isRoot } from '../../sandbox/service-users.js';
import { type ImageStore, isYoungImage, type StoredImage } from '../builder.js';
import { readFiles } from '../reader/read-files.js';
import type { SealedTree, SealOptions } from './seal-tree.js';

const REMOVED = 'removed-';

interface PutOptions extends SealOptions {
  signal: AbortSignal;
}

/** Images as folders of this host, in `<dataDir>/images/<digest>`. */
export class FolderImageStore implements ImageStore {
  readonly #dataDir: string;
  readonly #log: Logger;

  constructor({ dataDir, log }: { dataDir: string; log: Logger }) {
    this.#dataDir = dataDir;
    this.#log = log;
  }

  get #images(): string {
    return join(this.#dataDir, 'images');
  }

  /** Returns the folder of an image's content, whether or not the image exists. */
  pathOf(digest: string): string {
    if (!/^[0-9a-f]{64}$/.test(digest)) throw new Error(`"${digest}" is not the digest of an image`);
    return join(this.#images, digest);
  }

  async has({ digest, manifest }: StoredImage): Promise<boolean> {
    // The image of a database server has no folder: each start installs the server's programs if they are missing.
    if (isDataImage(manifest)) return true;
    return exists(this.pathOf(digest));
  }

  /** Moves a built folder into the store. If the store has the same content already, leaves the folder where it is. */
  async put(folder: string, { signal, ...options }: PutOptions): Promise<SealedTree> {
    // The owner changes first, so that no other user can change files after the checks.
    if (isRoot() && (await lstat(folder)).uid !== 0)
      await runLimited('chown', ['-hR', '--', '0:0', folder], { signal });
    const sealed = await readFiles('sealTree', { folder, ...options }, { signal });
    await this.putBundle(folder, sealed.digest);
    return sealed;
  }

  /** Returns the folder of an image and marks the image as used now; null if there is no such image. */
  async use(digest: string): Promise<string | null> {
    const path = this.pathOf(digest);
    return (await touch(path)) ? path : null;
  }

  async putBundle(folder: string, digest: string): Promise<void> {
    await mkdir(this.#images, { recursive: true, mode: 0o700 });
    const path = this.pathOf(digest);
    // The new modification time keeps sweeps from removing the image.
    await touch(folder);
    while (!(await touch(path)) && !(await renamed(folder, path)));
  }

  async sweep(isWanted: (digest: string) => boolean): Promise<number> {
    let removed = 0;
    for (const name of await readdir(this.#images).catch(() => [])) {
      const path = join(this.#images, name);
      const changed = await changedAt(path);
      // Another worker of this host may have removed the folder in its sweep.
      if (changed === null) continue;
      const action = imageAction(name, isWanted, changed, Date.now());
      if (action === 'discard') await this.#discard(path);
      else if (action === 'remove' && (await this.#remove(name, path))) removed += 1;
    }
    return removed;
  }

  #discard(path: string): Promise<void> {
    return discardTree({ dataDir: this.#dataDir, log: this.#log }, path);
  }

  /** Moves an image aside and removes it. If a build has used it meanwhile, moves it back. */
  async #remove(name: string, path: string): Promise<boolean> {
    const aside = join(this.#images, `${REMOVED}${name}-${randomUUID()}`);
    await rename(path, aside);
    const changed = await changedAt(aside);
    if (changed !== null && isYoungImage(changed, Date.now()) && (await renamed(aside, path))) return false;
    await this.#discard(aside);
    this.#log.debug({ digest: name }, 'image removed');
    return true;
  }
}

/** Returns what a sweep does with a folder. `discard` completes the removal of a folder that was moved aside. */
export function imageAction(
  name: string,
  isWanted: (digest: string) => boolean,
  changedAt: number,
  now: number,
): 'keep' | 'remove' | 'discard' {
  if (name.startsWith(REMOVED)) return 'discard';
  return isWanted(name) || isYoungImage(changedAt, now) ? 'keep' : 'remove';
}

async function renamed(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

async function changedAt(path: string): Promise<number | null> {
  return (await unlessAbsent(stat(path)))?.mtimeMs ?? null;
}
