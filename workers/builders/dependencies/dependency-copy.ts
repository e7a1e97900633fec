import { randomUUID } from 'node:crypto';
import { chown, lstat, mkdir, readdir, readFile, realpath, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { unlessAbsent } from '../../../shared/core/exists.js';
import { runLimited } from '../../../shared/core/run-limited.js';
import { SYSTEM_PATH } from '../../core/command-wrappers.js';
import { removeTree, touch } from '../../core/folders.js';
import { isRoot } from '../../sandbox/service-users.js';
import { usedMb } from '../files/folder-size.js';

const CONTENT = 'content';
const KEY = 'key';
/** Larger dependencies are installed for each build, in MB. */
const MAX_SIZE_MB = 1024;

/**
 * A copy of a service's dependencies, made between its installation and its build, because the build may change them. It is the
 * platform's own: no command ever sees its folder.
 */
export class DependencyCopy {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** The dependencies of the copy; null if there is none for this key. */
  async find(key: string): Promise<string | null> {
    const kept = await readFile(join(this.#path, KEY), 'utf8').catch(() => null);
    return kept === key ? join(this.#path, CONTENT) : null;
  }

  /** Marks the copy as used now. */
  async use(): Promise<void> {
    await touch(this.#path);
  }

  /**
   * Copies the folder of dependencies at a path below `app`, and replaces the copy that was kept. `app` is a real path. No command may run in
   * it meanwhile. Afterwards `app` and the dependencies belong to root: a replica of the service runs as the same user as its builds,
   * and could otherwise put links there.
   */
  async keep(key: string, app: string, path: string, signal: AbortSignal): Promise<void> {
    const source = join(app, path);
    const place = dirname(source);
    await this.#removeUnfinished();
    if (isRoot()) await chown(app, 0, 0);
    // From here on, only root can change anything below `app`. A command of the build may have put a link there earlier, so the
    // path is checked now and not before.
    if ((await realpath(place)) !== place || !(await lstat(source)).isDirectory()) return this.forget();
    if (isRoot()) await runLimited('chown', ['-hR', '--', '0:0', source], { signal });
    const size = await usedMb(source);
    if (size === null || size > MAX_SIZE_MB) return this.forget();
    const fresh = this.#aside();
    await mkdir(fresh, { recursive: true, mode: 0o700 });
    await runLimited('cp', ['-a', '--reflink=auto', '--', source, join(fresh, CONTENT)], {
      signal,
      env: { PATH: SYSTEM_PATH },
    });
    await writeFile(join(fresh, KEY), key, { mode: 0o600 });
    await this.forget();
    await rename(fresh, this.#path);
  }

  /** Removes the copy. It is renamed first, so that another build finds all of it or nothing. */
  async forget(): Promise<void> {
    const aside = this.#aside();
    // Without a copy nothing is aside.
    await unlessAbsent(rename(this.#path, aside));
    await removeTree(aside);
  }

  #aside(): string {
    return `${this.#path}-${randomUUID()}`;
  }

  /** A worker that was killed may have left them. */
  async #removeUnfinished(): Promise<void> {
    const parent = dirname(this.#path);
    const names = await readdir(parent).catch(() => []);
    const left = names.filter((name) => name.startsWith(`${basename(this.#path)}-`));
    for (const name of left) await removeTree(join(parent, name));
  }
}
