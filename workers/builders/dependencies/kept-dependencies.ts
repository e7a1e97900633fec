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

/** Returns the folder that records where dependencies are. Names in it begin with the id of a service. */
export function dependenciesFolder(dataDir: string): string {
  return join(dataDir, 'dependencies');
}

/**
 * The dependencies of a service's last build, which the next build copies if it would install the same packages (same
 * `key`). They are not linked, because the next image must be independent.
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

  /** Copies the dependencies to `path` in `app`, where no command may run. Returns false if none can be copied. */
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
      // Every removal of the source begins with a rename. If the inode number is unchanged, the copy is complete.
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

  /** Copies the installed dependencies, and makes root the owner of `app`. Rejects only with the signal's reason. */
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

  /** Records that the image has the dependencies for this key. Never rejects: the next build can install again. */
  async remember(key: string, digest: string): Promise<void> {
    try {
      await mkdir(dependenciesFolder(this.#deps.dataDir), { recursive: true, mode: 0o700 });
      await replaceFile(this.#file, JSON.stringify({ key, digest }));
    } catch (error) {
      this.#deps.log.warn({ err: error, digest }, 'the dependencies of an image could not be noted');
    }
  }

  /** Returns true if an image with the service's dependencies is recorded. */
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
