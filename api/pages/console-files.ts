import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { CONSOLE_FOLDER, type CurrentConsole, readCurrent } from './console-build.js';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export interface ConsoleFile {
  type: string;
  plain: Buffer;
  gzip: Buffer;
}

/** A complete version of the console in memory (2 MB), so that a new build does not disturb a running API process. */
export interface ConsoleFiles {
  version: string;
  files: ReadonlyMap<string, ConsoleFile>;
}

const MIN_CHECK_INTERVAL_MS = 1000;

/** Finds the newest build of the console, which may be newer than this API process. */
export class BuiltConsole {
  #files: ConsoleFiles | null = null;
  #current: CurrentConsole | null = null;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | null = null;

  /**
   * Returns the files of the newest build. If there are none, `error` says why, or is null while the first build runs.
   */
  async find(): Promise<{ files: ConsoleFiles | null; error: string | null }> {
    if (performance.now() - this.#lookedAt > MIN_CHECK_INTERVAL_MS) {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = null;
        this.#lookedAt = performance.now();
      });
      await this.#looking;
    }
    return { files: this.#files, error: this.#files ? null : (this.#current?.error ?? null) };
  }

  async #look(): Promise<void> {
    this.#current = await readCurrent();
    if (!this.#current || this.#current.error !== null || this.#current.version === this.#files?.version) return;
    this.#files = await load(this.#current.version);
  }
}

async function load(version: string): Promise<ConsoleFiles> {
  const folder = join(CONSOLE_FOLDER, version);
  const files = new Map<string, ConsoleFile>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const type = TYPES[extname(entry.name)];
    if (!entry.isFile() || type === undefined) continue;
    const path = join(entry.parentPath, entry.name);
    const plain = await readFile(path);
    files.set(path.slice(folder.length + 1), { type, plain, gzip: gzipSync(plain, { level: 6 }) });
  }
  return { version, files };
}
