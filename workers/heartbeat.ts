import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Db } from '../shared/core/database/database-client.js';
import { errorMessage } from '../shared/core/error-registry.js';
import type { Logger } from '../shared/core/log.js';
import {
  type Heartbeat as Beat,
  type HeartbeatAnswer,
  recordHeartbeat,
  removeWorker,
} from '../shared/workers/store.js';
import type { RunningJob } from './engine/worker-pool.js';

const BEAT_MS = 5000;
/** Subtracted from the measured delay, because an idle event loop shows a delay of about this length. */
const SAMPLE_MS = 10;

/** Records every 5 s that this worker is alive and which jobs it runs (specification, Catalog: `workerOnline`). */
export class Heartbeat {
  readonly #db: Db;
  readonly #log: Logger;
  readonly #worker: Omit<Beat, 'running' | 'event_loop_p99_ms'>;
  readonly #running: () => RunningJob[];
  readonly #onBeat: (answer: HeartbeatAnswer) => void;
  readonly #delay = monitorEventLoopDelay({ resolution: SAMPLE_MS });
  #timer: NodeJS.Timeout | null = null;

  constructor(
    db: Db,
    log: Logger,
    worker: Omit<Beat, 'running' | 'event_loop_p99_ms'>,
    running: () => RunningJob[],
    onBeat: (answer: HeartbeatAnswer) => void,
  ) {
    this.#onBeat = onBeat;
    this.#db = db;
    this.#log = log;
    this.#worker = worker;
    this.#running = running;
  }

  async start(): Promise<void> {
    this.#delay.enable();
    await this.#beat();
    this.#timer = setInterval(() => {
      this.#beat().catch((error) => this.#log.warn(`heartbeat failed: ${errorMessage(error)}`));
    }, BEAT_MS);
  }

  /** Removes the worker's record, so that its slots no longer count when new jobs are admitted. */
  async close(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    this.#delay.disable();
    await removeWorker(this.#db, this.#worker.id);
  }

  async #beat(): Promise<void> {
    const event_loop_p99_ms = Math.max(0, this.#delay.percentile(99) / 1e6 - SAMPLE_MS);
    this.#delay.reset();
    this.#onBeat(await recordHeartbeat(this.#db, { ...this.#worker, running: this.#running(), event_loop_p99_ms }));
  }
}
