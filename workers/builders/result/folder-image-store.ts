import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { exists, unlessAbsent } from '../../../shared/core/exists.js';
import type { Logger } from '../../../shared/core/log.js';
import { runLimited } from '../../../shared/core/run-limited.js';
import { discardTree, touch } from '../../core/folders.js';
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

  /** The folder of an image's content, also if there is no such image. */
  pathOf(digest: string): string {
    if (!/^[0-9a-f]{64}$/.test(digest)) throw new Error(`"${digest}" is not the digest of an image`);
    return join(this.#images, digest);
  }

  async has({ digest, manifest }: StoredImage): Promise<boolean> {
    // A server's programs are tools, which every start installs if they are missing.
    if (isDataImage(manifest)) return true;
    return exists(this.pathOf(digest));
  }

  /** Moves a built folder into the store. If an image with the same content is there, the folder stays where it is. */
  async put(folder: string, { signal, ...options }: PutOptions): Promise<SealedTree> {
    // First, so that no other user can change files after they were checked. If no command ran, the files are root's own.
    if (isRoot() && (await lstat(folder)).uid !== 0)
      await runLimited('chown', ['-hR', '--', '0:0', folder], { signal });
    const sealed = await readFiles('sealTree', { folder, ...options }, { signal });
    await this.putBundle(folder, sealed.digest);
    return sealed;
  }

  /** The folder of an image, which counts as new from now on; null if there is no such image. */
  async use(digest: string): Promise<string | null> {
    const path = this.pathOf(digest);
    return (await touch(path)) ? path : null;
  }

  /** Moves a folder into the store under a digest. If there is an image with this digest, the folder stays where it is. */
  async putBundle(folder: string, digest: string): Promise<void> {
    await mkdir(this.#images, { recursive: true, mode: 0o700 });
    const path = this.pathOf(digest);
    // The image's age counts from now. Another build may store the same content at this moment; either copy is right.
    await touch(folder);
    while (!(await touch(path)) && !(await renamed(folder, path)));
  }

  async sweep(isWanted: (digest: string) => boolean): Promise<number> {
    let removed = 0;
    for (const name of await readdir(this.#images).catch(() => [])) {
      const path = join(this.#images, name);
      const changed = await changedAt(path);
      // The sweep of another worker of this host may have removed it.
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

  /** Moves an image aside and removes it. If a build has touched it in the meantime, it moves back. */
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

/**
 * What a sweep does with an entry of the images' folder: `remove` images that no record needs and that are not young, and
 * `discard` what an earlier removal has moved aside. Times are in milliseconds since the epoch.
 */
export function imageAction(
  name: string,
  isWanted: (digest: string) => boolean,
  changedAt: number,
  now: number,
): 'keep' | 'remove' | 'discard' {
  if (name.startsWith(REMOVED)) return 'discard';
  return isWanted(name) || isYoungImage(changedAt, now) ? 'keep' : 'remove';
}

/** False if the target is there already. */
async function renamed(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/** Milliseconds since the epoch; null if there is nothing at the path. */
async function changedAt(path: string): Promise<number | null> {
  return (await unlessAbsent(stat(path)))?.mtimeMs ?? null;
}
