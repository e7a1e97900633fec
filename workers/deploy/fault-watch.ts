import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { exists } from '../../shared/core/exists.js';
import { Interrupted } from '../failures/interruption-errors.js';

export interface RunKey {
  id: string;
  fence: number;
}

export interface FaultThreadData {
  counter: SharedArrayBuffer;
  folder: string;
  /** The main thread counts as hung if `counter` does not change for `ticks` ticks of `tickMs` milliseconds. */
  tickMs: number;
  ticks: number;
}

export type FaultThreadMessage = { begins: string } | { ends: string };

const TICK_MS = 250;
/** Ticks are counted, not time: if the process is paused (SIGSTOP), the watching thread is paused too. */
const TICKS = 20;
const KEPT_MS = 24 * 60 * 60_000;
/** The watching thread uses 10 MiB, so it is stopped after this time without a deployment. */
const IDLE_MS = 60_000;

export interface FaultWatchTimes {
  tickMs: number;
  ticks: number;
  idleMs: number;
}

interface Watcher {
  thread: Worker;
  timer: NodeJS.Timeout;
}

/**
 * Notes which deployments are running when this worker hangs or crashes, in files below DATA_DIR. A worker that is
 * killed from outside leaves no note, because the deployment did not cause that.
 */
export class FaultWatch {
  readonly #folder: string;
  readonly #running = new Set<string>();
  #times: FaultWatchTimes | null = null;
  #watcher: Watcher | null = null;
  #idle: NodeJS.Timeout | undefined;
  /** Suspected deployments run one at a time, so that the next crash shows which of them is at fault. */
  #suspects: Promise<unknown> = Promise.resolve();

  constructor(dataDir: string) {
    this.#folder = join(dataDir, 'faults');
  }

  /** Starts to watch this process while deployments run. */
  async start({ tickMs = TICK_MS, ticks = TICKS, idleMs = IDLE_MS }: Partial<FaultWatchTimes> = {}): Promise<void> {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    await this.#forgetOld();
    this.#times = { tickMs, ticks, idleMs };
    const onCrash = () => noteFaults(this.#folder, this.#running);
    process.on('uncaughtExceptionMonitor', onCrash);
    process.on('unhandledRejection', onCrash);
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    this.#times = null;
    await this.#endWatcher();
  }

  begin(run: RunKey): () => void {
    const key = fileOf(run);
    clearTimeout(this.#idle);
    this.#watcher ??= this.#startWatcher();
    this.#running.add(key);
    this.#tell({ begins: key });
    return () => {
      this.#running.delete(key);
      this.#tell({ ends: key });
      if (this.#running.size === 0 && this.#times !== null) this.#endWhenIdle(this.#times.idleMs);
    };
  }

  /** Returns true if a worker of this host hung or crashed during any run of this deployment. */
  knows(id: string): boolean {
    return namesIn(this.#folder).some((name) => name.startsWith(`${id}.`));
  }

  /** Returns true if the worker hung or crashed during this run. */
  async isNoted(run: RunKey): Promise<boolean> {
    return exists(join(this.#folder, fileOf(run)));
  }

  async forget(run: RunKey): Promise<void> {
    await rm(join(this.#folder, fileOf(run)), { force: true });
  }

  /** Runs `work` after the work of earlier calls. Rejects if the signal aborts before that. */
  async alone<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#suspects;
    const mine = before.then(() => {
      if (signal.aborted) throw signal.reason instanceof Error ? signal.reason : new Interrupted('shutdown');
      return work();
    });
    this.#suspects = mine.catch(() => undefined);
    return mine;
  }

  #startWatcher(): Watcher | null {
    if (this.#times === null) return null;
    const { tickMs, ticks } = this.#times;
    const counter = new SharedArrayBuffer(4);
    const workerData: FaultThreadData = { counter, folder: this.#folder, tickMs, ticks };
    const thread = new Worker(new URL('./fault-thread.js', import.meta.url), { workerData, execArgv: [] });
    // If the thread fails, the worker continues without notes about hangs.
    thread.on('error', () => undefined);
    thread.unref();
    const view = new Int32Array(counter);
    return { thread, timer: setInterval(() => Atomics.add(view, 0, 1), tickMs).unref() };
  }

  #endWhenIdle(afterMs: number): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this.#endWatcher(), afterMs).unref();
  }

  async #endWatcher(): Promise<void> {
    const watcher = this.#watcher;
    this.#watcher = null;
    clearInterval(watcher?.timer);
    await watcher?.thread.terminate();
  }

  #tell(message: FaultThreadMessage): void {
    this.#watcher?.thread.postMessage(message);
  }

  async #forgetOld(): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name);
      const found = await stat(path).catch(() => null);
      if (found !== null && Date.now() - found.mtimeMs > KEPT_MS) await rm(path, { force: true });
    }
  }
}

function fileOf({ id, fence }: RunKey): string {
  return `${id}.${fence}`;
}

/** Synchronous, because an asynchronous call takes five times as long for a folder with few files. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Writes a note for each run. Synchronous, because the process may be about to exit. */
export function noteFaults(folder: string, runs: Iterable<string>): void {
  for (const run of runs) {
    try {
      writeFileSync(join(folder, run), '');
    } catch {
      // A note that cannot be written, for example to a full disk, must not hide the worker's own fault.
    }
  }
}
