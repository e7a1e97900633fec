import { randomUUID } from 'node:crypto';
import { chown, lstat, mkdir, readdir, readFile, realpath, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { unlessAbsent } from '../../../shared/core/exists.js';
import { runLimited } from '../../../shared/core/run-limited.js';
import { removeTree, touch } from '../../core/remove-folders.js';
import { isRoot } from '../../sandbox/service-users.js';
import { usedMb } from '../files/folder-size.js';

const CONTENT = 'content';
const KEY = 'key';
/** Maximum size of copied dependencies, in MB. Larger dependencies are installed anew in each build. */
const MAX_SIZE_MB = 1024;

/** A copy of a service's installed dependencies for its next build. Commands of tenants cannot access the copy. */
export class DependencyCopy {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Returns the folder of the copy; null if there is none for this `key`, which stands for the packages. */
  async find(key: string): Promise<string | null> {
    const kept = await readFile(join(this.#path, KEY), 'utf8').catch(() => null);
    return kept === key ? join(this.#path, CONTENT) : null;
  }

  async use(): Promise<void> {
    await touch(this.#path);
  }

  /**
   * Replaces the copy with the dependencies at `path` in the folder `app`. `app` must be a real path, and no command
   * may run in it during the call. Root becomes the owner of `app` and of the dependencies: replicas run as the same
   * user as builds, and could put links there.
   */
  async keep(key: string, app: string, path: string, signal: AbortSignal): Promise<void> {
    const source = join(app, path);
    const place = dirname(source);
    await this.#removeUnfinished();
    if (isRoot()) await chown(app, 0, 0);
    // From here on, only root can change `app`. A command may have put a link on the path before.
    if ((await realpath(place)) !== place || !(await lstat(source)).isDirectory()) return this.forget();
    if (isRoot()) await runLimited('chown', ['-hR', '--', '0:0', source], { signal });
    const size = await usedMb(source);
    if (size === null || size > MAX_SIZE_MB) return this.forget();
    const fresh = this.#aside();
    await mkdir(fresh, { recursive: true, mode: 0o700 });
    await runLimited('cp', ['-a', '--reflink=auto', '--', source, join(fresh, CONTENT)], { signal });
    await writeFile(join(fresh, KEY), key, { mode: 0o600 });
    await this.forget();
    await rename(fresh, this.#path);
  }

  /** Removes the copy. It is renamed first, so that another build finds all of it or nothing. */
  async forget(): Promise<void> {
    const aside = this.#aside();
    await unlessAbsent(rename(this.#path, aside));
    await removeTree(aside);
  }

  #aside(): string {
    return `${this.#path}-${randomUUID()}`;
  }

  async #removeUnfinished(): Promise<void> {
    const parent = dirname(this.#path);
    const names = await readdir(parent).catch(() => []);
    const left = names.filter((name) => name.startsWith(`${basename(this.#path)}-`));
    for (const name of left) await removeTree(join(parent, name));
  }
}
