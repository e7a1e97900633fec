import { readdir, readFile, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage } from '../../shared/core/error-registry.js';
import type { Logger } from '../../shared/core/log.js';
import { resultOf } from '../../shared/core/run-limited.js';
import { concurrently } from '../core/concurrently.js';
import { type DiskRoom, isOverBound, mostOfRun, roomState, type Use, type Writer, writerToEnd } from './disk-model.js';
import { scratchRoot } from './prepare-sandbox.js';

/** This file lists the folders to which a sandbox writes. Only the platform's user may change it. */
const STORAGE = 'storage';
const WATCH_MS = 1_000;
/** A folder that takes longer to measure has too many files. */
const MEASURE_MS = 20_000;
/** Interval between measurements of builds and commands while the disk has enough room. */
const BOUNDS_MS = 30_000;
const AT_ONCE = 2;

interface Storage {
  folders: string[];
  most: Use | null;
}

/** Records the folders to which a sandbox writes, for the disk guards of all workers on the host. */
export async function noteStorage(
  scratch: string,
  folders: readonly string[],
  { isRun, fileSizeMb }: { isRun: boolean; fileSizeMb: number | undefined },
): Promise<void> {
  const storage: Storage = {
    folders: [join(scratch, 'home'), join(scratch, 'tmp'), ...folders],
    most: isRun ? mostOfRun(fileSizeMb) : null,
  };
  await writeFile(join(scratch, STORAGE), JSON.stringify(storage), { mode: 0o600 });
}

export async function diskRoom(folder: string): Promise<DiskRoom> {
  const { bavail, blocks, bsize, ffree, files } = await statfs(folder);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize, freeFiles: ffree, totalFiles: files };
}

/** Returns why this host accepts no new build; null if its disk has room. */
export async function diskProblem(dataDir: string): Promise<string | null> {
  const state = roomState(await diskRoom(dataDir));
  if (state === 'enough' || state === 'low') return null;
  const what = state === 'bytes' ? 'space' : 'inodes';
  return `the disk of DATA_DIR on this host has almost no ${what} left, so nothing is built. Deploy again when the operator has made room`;
}

export interface DiskGuardDeps {
  dataDir: string;
  log: Pick<Logger, 'error' | 'warn'>;
  end: (id: string) => Promise<void>;
}

/**
 * Kills sandboxes that fill the disk of DATA_DIR before the platform's database runs out of room. A build or command
 * over its own limit is killed even if there is room.
 */
export class DiskGuard {
  readonly #deps: DiskGuardDeps;
  readonly #closing = new AbortController();
  /** The size of each folder when the free space became low. */
  #before = new Map<string, Use>();
  #writers: Writer[] = [];
  #measuredAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<unknown> = Promise.resolve();

  constructor(deps: DiskGuardDeps) {
    this.#deps = deps;
  }

  start(everyMs = WATCH_MS): void {
    this.#timer = setTimeout(() => {
      this.#looking = this.look()
        .catch((error: unknown) => {
          if (this.#closing.signal.aborted) return;
          this.#deps.log.warn({ err: error }, `the disk of DATA_DIR was not checked: ${errorMessage(error)}`);
        })
        .finally(() => {
          if (!this.#closing.signal.aborted) this.start(everyMs);
        });
    }, everyMs).unref();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    await this.#looking;
  }

  /** Checks the disk once. Returns the ids of the sandboxes that it killed. */
  async look(): Promise<string[]> {
    const state = roomState(await diskRoom(this.#deps.dataDir));
    const isDue = Date.now() - this.#measuredAt >= BOUNDS_MS;
    if (state === 'enough') {
      this.#before.clear();
      if (!isDue) return [];
    }
    await this.#measure(state !== 'enough');
    const over = this.#writers.filter(isOverBound).map(({ id }) => id);
    // Check the free space again: a sandbox may have ended during the measurement and freed space.
    const filler = writerToEnd(this.#writers, await diskRoom(this.#deps.dataDir));
    const ids = [...new Set([...over, ...(filler === null ? [] : [filler])])];
    for (const id of ids) {
      const writer = this.#writers.find((one) => one.id === id);
      this.#deps.log.error(
        { sandbox: id, ...writer?.used },
        'a sandbox was ended, because it filled the disk of DATA_DIR',
      );
      await this.#deps.end(id);
    }
    return ids;
  }

  async #measure(all: boolean): Promise<void> {
    this.#measuredAt = Date.now();
    const root = scratchRoot(this.#deps.dataDir);
    const isFirst = this.#before.size === 0;
    const writers: Writer[] = [];
    await concurrently(await readdir(root).catch(() => []), AT_ONCE, async (id) => {
      const text = await readFile(join(root, id, STORAGE), 'utf8').catch(() => null);
      if (text === null) return;
      const { folders, most } = JSON.parse(text) as Storage;
      const isRun = most !== null;
      if (!all && !isRun) return;
      const writer: Writer = { id, isRun, most, used: { bytes: 0, files: 0 }, grown: { bytes: 0, files: 0 } };
      for (const folder of folders) {
        const use = await useOf(folder, this.#closing.signal);
        if (all && isFirst) this.#before.set(folder, use);
        const before = this.#before.get(folder) ?? { bytes: 0, files: 0 };
        for (const key of ['bytes', 'files'] as const) {
          writer.used[key] += use[key];
          writer.grown[key] += use[key] === before[key] ? 0 : use[key] - before[key];
        }
      }
      writers.push(writer);
    });
    this.#writers = writers;
  }
}

/** A folder that is too large to measure counts as infinitely large. */
async function useOf(folder: string, signal: AbortSignal): Promise<Use> {
  const options = { timeout: MEASURE_MS, signal };
  const [size, count] = await Promise.all([
    resultOf('du', ['-skx', '--', folder], options),
    resultOf('du', ['-sx', '--inodes', '--', folder], options),
  ]);
  // Files disappear during the measurement, so an error of `du` is no reason to kill. A removed folder counts as 0.
  const figure = ({ stdout, cut }: typeof size) =>
    cut === null ? Number.parseInt(stdout, 10) || 0 : Number.MAX_SAFE_INTEGER;
  return { bytes: figure(size) * 1024, files: figure(count) };
}
