import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Logger } from '../../shared/log.js';
import { exists } from '../folders.js';
import { isRoot } from '../sandbox/users.js';
import type { ImageStore, StoredImage } from './builder.js';
import { type SealedTree, type SealOptions, sealTree } from './tree.js';

const run = promisify(execFile);

/** An image that nobody wants may be one whose deployment is about to be stored. */
const YOUNG_MS = 60 * 60_000;
const REMOVED = 'removed-';

/** The store that builders on this host put images into. */
export interface LocalImageStore extends ImageStore {
  /** The folder of an image's content, whether or not it is there. */
  pathOf(digest: string): string;
  /** Takes a built folder over and makes it an image; content that is there already is not stored twice. */
  put(folder: string, options: SealOptions): Promise<SealedTree>;
}

/** Images in `<dataDir>/images/<digest>`. */
export function createImageStore(options: { dataDir: string; log: Logger }): LocalImageStore {
  return new FolderImageStore(options);
}

class FolderImageStore implements LocalImageStore {
  readonly #dataDir: string;
  readonly #log: Logger;

  constructor({ dataDir, log }: { dataDir: string; log: Logger }) {
    this.#dataDir = dataDir;
    this.#log = log;
  }

  get #images(): string {
    return join(this.#dataDir, 'images');
  }

  pathOf(digest: string): string {
    if (!/^[0-9a-f]{64}$/.test(digest)) throw new Error(`"${digest}" is not the digest of an image`);
    return join(this.#images, digest);
  }

  async has({ digest }: Pick<StoredImage, 'digest'>): Promise<boolean> {
    return exists(this.pathOf(digest));
  }

  async put(folder: string, options: SealOptions): Promise<SealedTree> {
    // First of all, so that no other user changes what has been looked at.
    if (isRoot()) await run('chown', ['-hR', '--', '0:0', folder]);
    const sealed = await sealTree(folder, options);
    await mkdir(this.#images, { recursive: true, mode: 0o700 });
    const path = this.pathOf(sealed.digest);
    // The image's age counts from now on. Another build may store the same content at this moment: either will do.
    const now = new Date();
    await utimes(folder, now, now);
    while (!(await touched(path)) && !(await renamed(folder, path)));
    return sealed;
  }

  async sweep(isWanted: (digest: string) => boolean): Promise<number> {
    let removed = 0;
    for (const name of await readdir(this.#images).catch(() => [])) {
      const path = join(this.#images, name);
      if (name.startsWith(REMOVED)) await rm(path, { recursive: true, force: true });
      else if (!isWanted(name) && (await this.#remove(name, path))) removed += 1;
    }
    return removed;
  }

  /** Moves an old image aside and removes it; one that a build touches meanwhile goes back. */
  async #remove(name: string, path: string): Promise<boolean> {
    if (await isYoung(path)) return false;
    const aside = join(this.#images, `${REMOVED}${name}-${randomUUID()}`);
    await rename(path, aside);
    if ((await isYoung(aside)) && (await renamed(aside, path))) return false;
    await rm(aside, { recursive: true, force: true });
    this.#log.debug({ digest: name }, 'image removed');
    return true;
  }
}

/** Marks an image as wanted now; false where it is not there. */
async function touched(path: string): Promise<boolean> {
  const now = new Date();
  return unless(['ENOENT'], utimes(path, now, now));
}

/** False where the target is there already. */
async function renamed(from: string, to: string): Promise<boolean> {
  return unless(['ENOTEMPTY', 'EEXIST'], rename(from, to));
}

async function unless(codes: string[], work: Promise<void>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (codes.includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

async function isYoung(path: string): Promise<boolean> {
  const { mtimeMs } = await stat(path);
  return Date.now() - mtimeMs < YOUNG_MS;
}
