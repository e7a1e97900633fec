import { constants, mkdir, open, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hostsText, type Neighbour } from './network-model.js';

const YOUNG_MS = 10 * 60_000;

/** The files that are mounted over /etc/hosts in sandboxes: one per scope, below DATA_DIR. */
export class HostsFiles {
  readonly #folder: string;
  readonly #published = new Map<string, string>();
  #hostFile = '';

  constructor(folder: string) {
    this.#folder = folder;
  }

  async open(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o755 });
    this.#hostFile = await readFile('/etc/hosts', 'utf8').catch(() => '');
  }

  /**
   * Writes each scope's hosts file with these neighbours. A scope that is not in the map has no neighbours. Skips files
   * whose text is the same as before. With `anew`, writes all files, because another worker may have changed them.
   */
  async publish(neighbours: ReadonlyMap<string, readonly Neighbour[]>, anew: boolean): Promise<void> {
    if (anew) for (const scope of await readdir(this.#folder)) this.#published.set(scope, '');
    for (const scope of new Set([...neighbours.keys(), ...this.#published.keys()])) {
      const text = hostsText(neighbours.get(scope) ?? [], this.#hostFile);
      if (this.#published.get(scope) === text) continue;
      await overwrite(this.#path(scope), text);
      this.#published.set(scope, text);
    }
  }

  /** Creates a scope's file, or updates its time so that `removeUnused` keeps the file. */
  async fileOf(scope: string): Promise<string> {
    const path = this.#path(scope);
    await writeFile(path, hostsText([], this.#hostFile), { flag: 'wx', mode: 0o644 }).catch(
      async (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
        await utimes(path, new Date(), new Date());
      },
    );
    return path;
  }

  /** New files stay, because a scope's file is created before the sandbox that uses it is recorded. */
  async removeUnused(used: ReadonlySet<string>): Promise<void> {
    for (const scope of await readdir(this.#folder)) {
      const path = this.#path(scope);
      if (used.has(scope) || Date.now() - (await stat(path)).mtimeMs < YOUNG_MS) continue;
      await rm(path, { force: true });
      this.#published.delete(scope);
    }
  }

  #path(scope: string): string {
    return join(this.#folder, scope);
  }
}

/** Overwrites a file in place, because sandboxes have mounted it. A reader never sees it empty. */
async function overwrite(path: string, text: string): Promise<void> {
  const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o644);
  try {
    const bytes = Buffer.from(text);
    await file.write(bytes, 0, bytes.length, 0);
    await file.truncate(bytes.length);
  } finally {
    await file.close();
  }
}
