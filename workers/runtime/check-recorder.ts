import type { Db } from '../../shared/core/database/database-client.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import type { Logger } from '../../shared/core/log.js';
import { recordChecks } from '../replicas/check-store.js';
import type { Attempt } from '../replicas/rows.js';

/** Checks are collected for this time, and recorded together. */
const WAIT_MS = 2_000;

/** Records health checks that changed no replica's state. */
export class CheckRecorder {
  readonly #db: Db;
  readonly #log: Logger;
  #waiting = new Map<string, Pick<Attempt, 'id' | 'restarts'>>();
  #timer: NodeJS.Timeout | null = null;
  #recording: Promise<void> = Promise.resolve();

  constructor(db: Db, log: Logger) {
    this.#db = db;
    this.#log = log;
  }

  add({ id, restarts }: Pick<Attempt, 'id' | 'restarts'>): void {
    this.#waiting.set(id, { id, restarts });
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#recording = this.#recording.then(() => this.record());
    }, WAIT_MS).unref();
  }

  /** If recording fails, the error is logged and these checks are dropped. */
  async record(): Promise<void> {
    const attempts = [...this.#waiting.values()];
    this.#waiting.clear();
    try {
      if (attempts.length > 0) await recordChecks(this.#db, attempts);
    } catch (error) {
      this.#log.warn(`health checks were not recorded: ${errorMessage(error)}`);
    }
  }

  async close(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    await this.#recording;
  }
}
