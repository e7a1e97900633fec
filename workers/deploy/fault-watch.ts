import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { exists } from '../../shared/core/exists.js';
import { Interrupted } from '../failures/interruption-errors.js';

/** Identifies one worker's run of a deployment. */
export interface RunKey {
  id: string;
  fence: number;
}

export interface FaultThreadData {
  /** A counter that the main thread increments while its event loop runs. */
  counter: SharedArrayBuffer;
  folder: string;
  /** The worker counts as hung if the counter has not changed for `ticks` ticks of `tickMs` milliseconds each. */
  tickMs: number;
  ticks: number;
}

export type FaultThreadMessage = { begins: string } | { ends: string };

const TICK_MS = 250;
/**
 * The process counts as hung if its event loop does nothing for this many ticks of the watching thread (five seconds).
 * Ticks are counted, not time: if the whole process is paused (SIGSTOP), the thread is paused too.
 */
const TICKS = 20;
const KEPT_MS = 24 * 60 * 60_000;
/** The watching thread uses 10 MiB, so it is stopped after this time without a deployment, in milliseconds. */
const IDLE_MS = 60_000;

export interface FaultWatchTimes {
  tickMs: number;
  ticks: number;
  idleMs: number;
}

/** The watching thread, and the timer that increments its counter while the event loop runs. */
interface Watcher {
  thread: Worker;
  timer: NodeJS.Timeout;
}

/**
 * Notes which deployments are running when this worker hangs or crashes. A note is a file below DATA_DIR, so that other
 * workers on the host can read it. A worker that is killed or stopped from outside leaves no note, because the
 * deployment did not cause that.
 */
export class FaultWatch {
  readonly #folder: string;
  readonly #running = new Set<string>();
  #times: FaultWatchTimes | null = null;
  #watcher: Watcher | null = null;
  #idle: NodeJS.Timeout | undefined;
  /**
   * Resolves when the last suspected deployment has finished. A deployment is suspected if a worker hung or crashed
   * during it. Such deployments run one at a time, so that the next crash shows which of them caused it.
   */
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

  /**
   * Runs the work of a suspected deployment (one during which a worker hung or crashed), after the work of earlier
   * calls has finished. Rejects with the signal's reason if the signal aborts before the work starts.
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

  /** Starts the watching thread and its timer. Returns null before `start` and after `close`. */
  #startWatcher(): Watcher | null {
    if (this.#times === null) return null;
    const { tickMs, ticks } = this.#times;
    const counter = new SharedArrayBuffer(4);
    const workerData: FaultThreadData = { counter, folder: this.#folder, tickMs, ticks };
    const thread = new Worker(new URL('./fault-thread.js', import.meta.url), { workerData, execArgv: [] });
    // If the thread fails, the worker continues, but no longer notes which deployments run when the worker hangs.
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
 * Returns the names in a folder. Synchronous, because for a few names an asynchronous call takes five times as long.
 */
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
      // Ignores a note that cannot be written, for example to a full disk: the error would hide the worker's own fault.
    }
  }
}
