import { setTimeout as delay } from 'node:timers/promises';
import type { PlatformProcess } from '../support/processes.js';

const STARTS_MS = 300_000;
const PAUSE_MS = 500;

/** Starts a worker again whenever it ends unexpectedly. */
export class WorkerSupervisor {
  readonly #startWorker: () => Promise<PlatformProcess>;
  readonly #say: (what: string) => void;
  /** Workers that run. Faults do not strike workers that still start. */
  readonly #workers: PlatformProcess[] = [];
  readonly #starting = new Set<Promise<void>>();
  #closed = false;
  #failure: unknown;

  constructor(startWorker: () => Promise<PlatformProcess>, say: (what: string) => void) {
    this.#startWorker = startWorker;
    this.#say = say;
  }

  start(): Promise<void> {
    const started = persistently(this.#startWorker, () => this.#closed)
      .then(
        (worker) => worker && this.add(worker),
        (error) => {
          this.#failure ??= error;
        },
      )
      .finally(() => this.#starting.delete(started));
    this.#starting.add(started);
    return started;
  }

  add(worker: PlatformProcess): void {
    this.#workers.push(worker);
    if (worker.ended) this.#startAgain(worker);
    else worker.child.once('exit', () => this.#startAgain(worker));
  }

  get running(): number {
    return this.#workers.length;
  }

  take(position: number): PlatformProcess | undefined {
    return this.#workers.splice(position % Math.max(1, this.#workers.length), 1)[0];
  }

  /** Resolves when no start is in progress. Throws if a start was given up. */
  async settled(): Promise<void> {
    while (this.#starting.size > 0) await Promise.all(this.#starting);
    if (this.#failure) throw this.#failure;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#starting);
  }

  #startAgain(worker: PlatformProcess): void {
    const position = this.#workers.indexOf(worker);
    if (position < 0 || this.#closed) return;
    this.#workers.splice(position, 1);
    this.#say(`a worker ended by itself (${worker.child.exitCode ?? worker.child.signalCode}) and is started again`);
    void this.start();
  }
}

/** Repeats a start until it succeeds. Resolves to undefined once `stopped` returns true. */
export async function persistently<T>(start: () => Promise<T>, stopped = () => false): Promise<T | undefined> {
  const deadline = Date.now() + STARTS_MS;
  while (!stopped()) {
    try {
      return await start();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await delay(PAUSE_MS);
    }
  }
  return undefined;
}
