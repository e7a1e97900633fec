import { lstat, mkdir, readFile, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { exists } from '../../../shared/core/exists.js';
import { runLimited } from '../../../shared/core/run-limited.js';
import { type DiscardDeps, removeTree, touch } from '../../core/remove-folders.js';
import { replaceFile } from '../../core/replace-file.js';
import { isRecord } from '../files/json-values.js';
import type { FolderImageStore } from '../result/folder-image-store.js';
import { DependencyCopy } from './dependency-copy.js';

interface Deps extends DiscardDeps {
  images: Pick<FolderImageStore, 'pathOf'>;
}

/**
 * Returns the folder that records where each service's dependencies are: in an image, or in a copy. The names of its
 * entries begin with the service's id.
 */
export function dependenciesFolder(dataDir: string): string {
  return join(dataDir, 'dependencies');
}

/**
 * The dependencies that a service's last build installed. The next build copies them if it would install the same
 * packages (same `key`). If an application has no build step, they are copied from its image, which no tenant can
 * change; otherwise a separate copy is kept. They are not linked, because the next image must be independent.
 */
export class KeptDependencies {
  readonly #deps: Deps;
  readonly #file: string;
  readonly #copy: DependencyCopy;

  constructor(deps: Deps, serviceId: string) {
    this.#deps = deps;
    this.#file = join(dependenciesFolder(deps.dataDir), serviceId);
    this.#copy = new DependencyCopy(`${this.#file}.copy`);
  }

  /**
   * Copies the dependencies into a checkout, in which no command may run during the call. `path` is the folder of the
   * dependencies, relative to `app` and to the image. Returns false if there are none for this key, or if they cannot
   * be copied.
   */
  async restore(key: string, app: string, path: string, signal: AbortSignal): Promise<boolean> {
    const source = (await this.#copy.find(key)) ?? (await this.#inImage(key, path));
    if (source === null) return false;
    const target = join(app, path);
    const place = dirname(target);
    const before = await numberOf(source);
    if (before === null || (await realpath(place)) !== place) return false;
    try {
      // The repository may contain a folder at this path. An installation would replace it too.
      await removeTree(target, { signal });
      await runLimited('cp', ['-a', '--reflink=auto', '--', source, target], { signal });
      // A removal of the source begins with a rename. If the path still has the same inode number after the copy, the
      // copy is complete.
      if ((await numberOf(source)) === before) {
        await touch(this.#file);
        await this.#copy.use();
        return true;
      }
    } catch (error) {
      signal.throwIfAborted();
      this.#deps.log.warn({ err: error, source }, 'the dependencies of the last build could not be copied');
    }
    await removeTree(target, { signal });
    return false;
  }

  /**
   * Keeps a copy of the dependencies that were installed for this key. Changes the owner of `app` to root. Rejects only
   * with the signal's reason. If copying fails, the next build installs again.
   */
  async keep(key: string, app: string, path: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#copy.keep(key, app, path, signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#deps.log.warn({ err: error, app }, 'the dependencies of a build could not be kept');
    }
  }

  async forget(): Promise<void> {
    await this.#copy.forget();
  }

  /**
   * Records that the image with this digest has the dependencies for this key. Never rejects: without the record, the
   * next build installs again.
   */
  async remember(key: string, digest: string): Promise<void> {
    try {
      await mkdir(dependenciesFolder(this.#deps.dataDir), { recursive: true, mode: 0o700 });
      await replaceFile(this.#file, JSON.stringify({ key, digest }));
    } catch (error) {
      this.#deps.log.warn({ err: error, digest }, 'the dependencies of an image could not be noted');
    }
  }

  /**
   * Returns true if an image with the service's dependencies is recorded. The next build may then copy them instead of
   * installing.
   */
  isNoted(): Promise<boolean> {
    return exists(this.#file);
  }

  async #inImage(key: string, path: string): Promise<string | null> {
    const digest = await this.#digestOf(key);
    return digest === null ? null : join(this.#deps.images.pathOf(digest), path);
  }

  async #digestOf(key: string): Promise<string | null> {
    // After a power cut the file may be empty or damaged; it then counts as missing.
    const noted: unknown = await readFile(this.#file, 'utf8')
      .then(JSON.parse)
      .catch(() => null);
    return isRecord(noted) && noted.key === key && typeof noted.digest === 'string' ? noted.digest : null;
  }
}

async function numberOf(path: string): Promise<number | null> {
  const found = await lstat(path).catch(() => null);
  return found?.isDirectory() === true ? found.ino : null;
}
