import type { Db } from '../../shared/core/database/database-client.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import type { Logger } from '../../shared/core/log.js';
import { recordVisits } from '../sleep/visit-store.js';
import type { TrafficMeter } from './traffic-meter.js';
import { recordTraffic, type Traffic } from './traffic-store.js';

export interface TrafficReportOptions {
  db: Db;
  log: Logger;
  meter: TrafficMeter;
  everyMs: number;
  /** Stores the counts; `recordTraffic` by default. */
  record?: (db: Db, taken: readonly Traffic[]) => Promise<void>;
}

/**
 * Stores an edge's counts, in one statement each time. While PostgreSQL cannot be reached, counts add up. If
 * PostgreSQL's confirmation of a report is lost, its counts may be stored twice.
 */
export class TrafficReport {
  readonly #options: TrafficReportOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | null = null;
  #failing = false;

  constructor(options: TrafficReportOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => void this.report(), this.#options.everyMs);
  }

  /** Sends a last report. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
    await this.report();
  }

  /** Reports now, or joins the report that is in progress. Never rejects. */
  report(): Promise<void> {
    this.#running ??= this.#report().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #report(): Promise<void> {
    const { db, log, meter, record = recordTraffic } = this.#options;
    const visited = meter.visited();
    const taken = meter.take();
    try {
      await recordVisits(db, visited);
      await record(db, taken);
      this.#failing = false;
    } catch (error) {
      meter.putBack(taken);
      if (!this.#failing) log.warn(`the counted requests could not be stored, they are kept: ${errorMessage(error)}`);
      this.#failing = true;
    }
  }
}
