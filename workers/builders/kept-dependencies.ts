import { execFile } from 'node:child_process';
import { lstat, mkdir, readFile, realpath, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SYSTEM_PATH } from '../command-wrappers.js';
import { type DiscardDeps, removeTree, touch } from '../folders.js';
import type { LocalImageStore } from './folder-image-store.js';
import { isRecord } from './json-values.js';

const run = promisify(execFile);

const MODULES = 'node_modules';

interface Deps extends DiscardDeps {
  images: Pick<LocalImageStore, 'pathOf'>;
}

/** The records of which image of a service has its dependencies: a file for each service. */
export function dependenciesFolder(dataDir: string): string {
  return join(dataDir, 'dependencies');
}

/**
 * The dependencies of a service's last build. They stay in its image, which no tenant can change, and are copied from there if the next
 * build would install the same (`key`). A copy, because the next image is an image of its own.
 */
export class KeptDependencies {
  readonly #deps: Deps;
  readonly #file: string;

  constructor(deps: Deps, serviceId: string) {
    this.#deps = deps;
    this.#file = join(dependenciesFolder(deps.dataDir), serviceId);
  }

  /**
   * Copies the dependencies into a folder of a checkout, in which no command may run meanwhile. `folder` is relative to `app`, and to the
   * image. False if there are none for this key; then the folder has none either.
   */
  async restore(key: string, app: string, folder: string, signal: AbortSignal): Promise<boolean> {
    const digest = await this.#digestOf(key);
    if (digest === null) return false;
    const image = this.#deps.images.pathOf(digest);
    const source = join(image, folder, MODULES);
    const place = join(app, folder);
    const target = join(place, MODULES);
    if (!(await isFolder(source)) || (await realpath(place)) !== place) return false;
    try {
      // A repository may have a folder of that name. An installation removes it too.
      await removeTree(target, { signal });
      await run('cp', ['-a', '--reflink=auto', '--', source, target], { signal, env: { PATH: SYSTEM_PATH } });
      // A sweep moves an image away before it removes files of it.
      if (await isFolder(source)) {
        await touch(this.#file);
        return true;
      }
    } catch (error) {
      signal.throwIfAborted();
      this.#deps.log.warn({ err: error, digest }, 'the dependencies of an image could not be copied');
    }
    await removeTree(target, { signal });
    return false;
  }

  /** Notes that the image with this digest has the dependencies for this key. */
  async remember(key: string, digest: string): Promise<void> {
    await mkdir(dependenciesFolder(this.#deps.dataDir), { recursive: true, mode: 0o700 });
    const fresh = `${this.#file}.${process.pid}`;
    await writeFile(fresh, JSON.stringify({ key, digest }), { mode: 0o600 });
    await rename(fresh, this.#file);
  }

  async #digestOf(key: string): Promise<string | null> {
    const text = await readFile(this.#file, 'utf8').catch(() => '{}');
    const noted: unknown = JSON.parse(text);
    return isRecord(noted) && noted.key === key && typeof noted.digest === 'string' ? noted.digest : null;
  }
}

async function isFolder(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => null))?.isDirectory() === true;
}
