import { v7 as uuidv7 } from 'uuid';
import {
  changedSchedules,
  dueSchedules,
  fireTick,
  planSchedule,
  stopSchedule,
} from '../../shared/runs/schedule-store.js';
import { latestTick, nextTick } from '../../shared/runs/ticks.js';
import type { WorkshopDeps } from '../worker-deps.js';

/** Schedules that one pass fires. */
const BATCH = 200;

/**
 * Makes the schedules of cron services follow their configuration, and starts the runs whose tick has come. Every worker does
 * this every second; the database decides which of them makes a run. Of ticks that were missed, the latest is made up for.
 */
export async function tickSchedules({ db, dispatcher }: Pick<WorkshopDeps, 'db' | 'dispatcher'>): Promise<void> {
  for (const change of await changedSchedules(db)) {
    if (change.runnable) await planSchedule(db, change, nextTick(change, change.now));
    else await stopSchedule(db, change.serviceId);
  }
  let fired = 0;
  for (const due of await dueSchedules(db, BATCH)) {
    const scheduledAt = latestTick(due, due.nextRunAt, due.now);
    const tick = { runId: uuidv7(), scheduledAt, nextRunAt: nextTick(due, due.now) };
    if ((await fireTick(db, due, tick)) === 'queued') fired += 1;
  }
  if (fired > 0) dispatcher.wake();
}
