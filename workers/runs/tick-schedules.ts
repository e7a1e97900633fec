import { v7 as uuidv7 } from 'uuid';
import { errorMessage } from '../../shared/core/error-registry.js';
import { latestTick, nextTick, type Schedule } from '../../shared/runs/cron-ticks.js';
import {
  changedSchedules,
  dueSchedules,
  fireTick,
  planSchedule,
  stopSchedule,
} from '../../shared/runs/schedule-store.js';
import type { JobDeps } from '../worker-deps.js';

type Deps = Pick<JobDeps, 'db' | 'dispatcher' | 'log'>;

const BATCH = 200;

/**
 * Updates changed schedules, and creates the runs that are due. If a schedule has missed several ticks, only the latest
 * gets a run.
 */
export async function tickSchedules({ db, dispatcher, log }: Deps): Promise<void> {
  for (const change of await changedSchedules(db)) {
    if (change.runnable) await planSchedule(db, change, following(change, change.now, log));
    else await stopSchedule(db, change.serviceId);
  }
  let fired = 0;
  for (const due of await dueSchedules(db, BATCH)) {
    const scheduledAt = latestTick(due, due.nextRunAt, due.now);
    const tick = { runId: uuidv7(), scheduledAt, nextRunAt: following(due, due.now, log) };
    if ((await fireTick(db, due, tick)) === 'queued') fired += 1;
  }
  if (fired > 0) dispatcher.wake();
}

/** Returns when a schedule is due next; null, with a log line, if this version of the platform cannot parse it. */
function following(schedule: Schedule & { serviceId: string }, now: Date, log: Deps['log']): Date | null {
  try {
    return nextTick(schedule, now);
  } catch (error) {
    log.warn({ serviceId: schedule.serviceId }, `a schedule cannot be read: ${errorMessage(error)}`);
    return null;
  }
}
