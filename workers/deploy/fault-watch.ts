import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { exists } from '../../shared/core/exists.js';
import { Interrupted } from '../failures/interruption-errors.js';

/** A deployment that one worker runs. */
export interface RunKey {
  id: string;
  fence: number;
}

export interface FaultThreadData {
  /** A counter that the main thread increments while its event loop runs. */
  counter: SharedArrayBuffer;
  folder: string;
  /** The worker counts as hung when the counter has not changed for this many of the thread's ticks. */
  tickMs: number;
  ticks: number;
}

export type FaultThreadMessage = { begins: string } | { ends: string };

const TICK_MS = 250;
/**
 * Five seconds, counted in the thread's own ticks: if the whole process is stopped from outside, the thread stops too.
 */
const TICKS = 20;
const KEPT_MS = 24 * 60 * 60_000;
/** The watching thread takes 10 MiB, so it ends when no deployment has run for this time. */
const IDLE_MS = 60_000;

export interface FaultWatchTimes {
  tickMs: number;
  ticks: number;
  idleMs: number;
}

/** The watching thread, and the timer that shows it that the event loop runs. */
interface Watcher {
  thread: Worker;
  timer: NodeJS.Timeout;
}

/**
 * Notes which deployments run while this worker hangs or crashes. The notes are files below DATA_DIR, which other
 * workers of the host read. A worker that is killed or stopped from outside leaves no note, because the deployment did
 * not cause that.
 */
export class FaultWatch {
  readonly #folder: string;
  readonly #running = new Set<string>();
  #times: FaultWatchTimes | null = null;
  #watcher: Watcher | null = null;
  #idle: NodeJS.Timeout | undefined;
  /** Suspected deployments run one after the other, so that a fault points at one of them. */
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

  /** Marks a run as active until the returned function is called. */
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

  /** Returns true if a worker of this host hung or crashed with this deployment, at any fence. */
  knows(id: string): boolean {
    return namesIn(this.#folder).some((name) => name.startsWith(`${id}.`));
  }

  /** Returns true if the worker of this run hung or crashed meanwhile. */
  async isNoted(run: RunKey): Promise<boolean> {
    return exists(join(this.#folder, fileOf(run)));
  }

  async forget(run: RunKey): Promise<void> {
    await rm(join(this.#folder, fileOf(run)), { force: true });
  }

  /**
   * Runs the work of a suspected deployment (one during which a worker hung or crashed), after the earlier calls' work
   * has ended. Rejects with the signal's reason if the signal aborts before the work starts.
   */
  async alone<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#suspects;
    const mine = before.then(() => {
      if (signal.aborted) throw signal.reason instanceof Error ? signal.reason : new Interrupted('shutdown');
      return work();
    });
    this.#suspects = mine.catch(() => undefined);
    return mine;
  }

  /** Starts the watching thread and its timer. Returns null if this process is not watched. */
  #startWatcher(): Watcher | null {
    if (this.#times === null) return null;
    const { tickMs, ticks } = this.#times;
    const counter = new SharedArrayBuffer(4);
    const workerData: FaultThreadData = { counter, folder: this.#folder, tickMs, ticks };
    const thread = new Worker(new URL('./fault-thread.js', import.meta.url), { workerData, execArgv: [] });
    // If the thread fails, the worker continues without notes about its faults.
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

/**
 * Returns the names in a folder, synchronously. A thread of the pool would take five times as long for the few names.
 */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Writes the notes. Synchronous, because the process may be about to end. */
export function noteFaults(folder: string, runs: Iterable<string>): void {
  for (const run of runs) {
    try {
      writeFileSync(join(folder, run), '');
    } catch {
      // Ignored, because a full disk must not hide the fault itself.
    }
  }
}
