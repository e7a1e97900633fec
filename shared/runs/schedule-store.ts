import { type Db, oneValue, rowsOf, type Transaction } from '../core/database/database-client.js';
import type { Schedule } from './cron-ticks.js';

/** SQL: true for a cron service `s` whose schedule is in effect. */
const RUNNABLE = `(s.lifecycle_status = 'active' and not s.archived and s.deleted_at is null and s.live_deployment_id is not null)`;
const EXPRESSION = `s.configuration ->> 'schedule'`;
const TIMEZONE = `s.configuration ->> 'timezone'`;

export interface ScheduleChange extends Schedule {
  serviceId: string;
  /** False if the schedule must be stopped. */
  runnable: boolean;
  /** The database's current time, because all workers must use the same clock. */
  now: Date;
}

/**
 * Returns cron services whose stored schedule does not match their configuration. Includes schedules whose next tick
 * was computed before the clock was set back.
 */
export function changedSchedules(db: Db): Promise<ScheduleChange[]> {
  return rowsOf<ScheduleChange>(
    db,
    `select s.id as "serviceId", ${EXPRESSION} as expression, ${TIMEZONE} as timezone, ${RUNNABLE} as runnable, now() as now
       from services s left join schedules c on c.service_id = s.id
      where s.kind = 'cron' and s.deleted_at is null and (
        (not ${RUNNABLE} and c.service_id is not null)
        or (${RUNNABLE} and (c.service_id is null or c.expression <> ${EXPRESSION} or c.timezone <> ${TIMEZONE}
                             or c.planned_at > now() + interval '1 second')))
      limit 500`,
  );
}

export async function planSchedule(db: Db, { serviceId, expression, timezone }: ScheduleChange, next: Date | null) {
  await db.raw(
    `insert into schedules (service_id, expression, timezone, next_run_at)
     values (:serviceId, :expression, :timezone, :next)
     on conflict (service_id) do update
       set expression = excluded.expression, timezone = excluded.timezone, next_run_at = excluded.next_run_at, planned_at = now()`,
    { serviceId, expression, timezone, next },
  );
}

export async function stopSchedule(db: Db, serviceId: string): Promise<void> {
  await db.raw('delete from schedules where service_id = ?', [serviceId]);
}

export interface DueSchedule extends Schedule {
  serviceId: string;
  nextRunAt: Date;
  now: Date;
}

/** Returns schedules whose next tick is due, the longest overdue first. */
export function dueSchedules(db: Db, limit: number): Promise<DueSchedule[]> {
  return rowsOf<DueSchedule>(
    db,
    `select service_id as "serviceId", expression, timezone, next_run_at as "nextRunAt", now() as now
       from schedules where next_run_at <= now() order by next_run_at limit :limit`,
    { limit },
  );
}

export interface Tick {
  runId: string;
  scheduledAt: Date;
  /** The time of the following tick; null if there is none. */
  nextRunAt: Date | null;
}

/**
 * Stores the run for a tick and sets the time of the next tick. Returns the run's status, which is `skipped` if too
 * many runs are unfinished. Returns null if another worker was first, or if the service was changed or stopped.
 */
export async function fireTick(db: Db, due: DueSchedule, tick: Tick): Promise<string | null> {
  return db.transaction(async (trx) => {
    // Runs are counted only under this lock, which a manual run also takes, so that `maxConcurrency` is not exceeded.
    await lockSchedule(trx, due.serviceId);
    return oneValue<string>(
      trx,
      `with service as (
         select s.* from services s
          where s.id = :serviceId and ${RUNNABLE} and ${EXPRESSION} = :expression and ${TIMEZONE} = :timezone for share
       ), tick as (
         update schedules c set next_run_at = :nextRunAt, planned_at = now() from service
          where c.service_id = service.id and c.next_run_at = :expected returning c.service_id
       ), open as (
         select count(*) as runs, (select (configuration ->> 'maxConcurrency')::int from service) as most
           from runs where service_id = :serviceId and finished_at is null and command is null
       )
       insert into runs (id, workspace_id, service_id, deployment_id, trigger, status, scheduled_at, max_retries,
                         timeout_seconds, error, finished_at)
       select :runId, s.workspace_id, s.id, s.live_deployment_id, 'schedule',
              case when open.runs < open.most then 'queued' else 'skipped' end, :scheduledAt,
              (s.configuration ->> 'maxRetries')::int, (s.configuration ->> 'timeoutSeconds')::int,
              case when open.runs < open.most then ''
                   else open.runs || ' earlier run(s) had not ended, as many as maxConcurrency allows' end,
              case when open.runs < open.most then null else now() end
         from tick cross join service s cross join open
       on conflict (service_id, scheduled_at) where trigger = 'schedule' do nothing
       returning status`,
      {
        serviceId: due.serviceId,
        expression: due.expression,
        timezone: due.timezone,
        expected: due.nextRunAt,
        ...tick,
      },
    );
  });
}

/** Locks a service's schedule until the commit, so that only one transaction at a time adds runs. */
export async function lockSchedule(trx: Transaction, serviceId: string): Promise<void> {
  await trx.raw('select 1 from schedules where service_id = ? for update', [serviceId]);
}
