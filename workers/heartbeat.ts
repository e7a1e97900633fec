import type { Db } from '../shared/db/client.js';
import { type Heartbeat as Beat, beat, removeWorker } from '../shared/db/workers.js';
import { errorMessage } from '../shared/errors.js';
import type { Logger } from '../shared/log.js';
import type { RunningJob } from './workers.js';

const BEAT_MS = 5000;

/** Says every 5 s that this worker lives and what it runs (specification, Catalog: `workerOnline`). */
export class Heartbeat {
  readonly #db: Db;
  readonly #log: Logger;
  readonly #worker: Omit<Beat, 'running'>;
  readonly #running: () => RunningJob[];
  #timer: NodeJS.Timeout | null = null;

  constructor(db: Db, log: Logger, worker: Omit<Beat, 'running'>, running: () => RunningJob[]) {
    this.#db = db;
    this.#log = log;
    this.#worker = worker;
    this.#running = running;
  }

  /** Resolves after the first beat. */
  async start(): Promise<void> {
    await this.#beat();
    this.#timer = setInterval(() => {
      this.#beat().catch((error) => this.#log.warn(`heartbeat failed: ${errorMessage(error)}`));
    }, BEAT_MS);
  }

  /** Takes the worker off the list: admission counts its slots no more. */
  async close(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    await removeWorker(this.#db, this.#worker.id);
  }

  async #beat(): Promise<void> {
    await beat(this.#db, { ...this.#worker, running: this.#running() });
  }
}
