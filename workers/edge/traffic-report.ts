import type { Db } from '../../shared/core/database/database-client.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import type { Logger } from '../../shared/core/log.js';
import { recordVisits } from '../sleep/visit-store.js';
import type { TrafficMeter } from './traffic-meter.js';
import type { Traffic } from './traffic-store.js';

export interface TrafficReportOptions {
  db: Db;
  log: Logger;
  meter: TrafficMeter;
  everyMs: number;
  record: (db: Db, taken: readonly Traffic[]) => Promise<void>;
}

/**
 * Stores an edge's counts on a timer. While PostgreSQL cannot be reached, counts add up. If PostgreSQL's confirmation
 * is lost, counts may be stored twice. Returns a function that stops the timer and stores the last counts.
 */
export function reportTraffic({ db, log, meter, everyMs, record }: TrafficReportOptions): () => Promise<void> {
  let running: Promise<void> | null = null;
  let failing = false;
  const store = async () => {
    const visited = meter.visited();
    const taken = meter.take();
    try {
      await recordVisits(db, visited);
      await record(db, taken);
      failing = false;
    } catch (error) {
      meter.putBack(taken);
      if (!failing) log.warn(`the counted requests could not be stored, they are kept: ${errorMessage(error)}`);
      failing = true;
    }
  };
  const report = () => {
    running ??= store().finally(() => {
      running = null;
    });
    return running;
  };
  const timer = setInterval(() => void report(), everyMs);
  return async () => {
    clearInterval(timer);
    await running;
    await report();
  };
}
