import { anyRow, countOf, type Db, rowCountOf, type Transaction } from '../core/database/database-client.js';
import { type Page, type PageRequest, pageOf } from '../core/database/page.js';
import { requestCancel } from '../engine/cancel-requests.js';
import { RUNS } from './kind.js';
import type { RunRow, RunTrigger } from './model.js';

/** Returns SQL assignments that queue the next attempt of a run, in `delayMs` at the earliest. */
export function retrySql(delayMs: number): string {
  return `attempt = attempt + 1, admitted_at = null, not_before = now() + ${Math.round(delayMs)} * interval '1 millisecond'`;
}

export interface WhichRuns {
  serviceId: string;
  runId?: string | null;
  deploymentId?: string | null;
  trigger?: RunTrigger | null;
}

/** Requests the cancellation of matching open runs and notifies their workers. Returns how many matched. */
export function cancelOpenRuns(
  trx: Transaction,
  { serviceId, runId = null, deploymentId = null, trigger = null }: WhichRuns,
): Promise<number> {
  return requestCancel(trx, RUNS, { service_id: serviceId, id: runId, deployment_id: deploymentId, trigger });
}

const COUNTED = {
  all: 'true',
  /** Runs of the service's own command. */
  own: 'command is null',
  /** Runs of commands entered by users. */
  given: `command is not null and trigger = 'manual'`,
};

/** Returns the number of a service's unfinished runs that meet the condition `which`. */
export function countOpenRuns(db: Db, serviceId: string, which: keyof typeof COUNTED): Promise<number> {
  const sql = `select count(*) from runs where service_id = ? and finished_at is null and ${COUNTED[which]}`;
  return countOf(db, sql, [serviceId]);
}

/** Returns true if a run's command must be started at most once, because a user entered it. */
export function isStartedOnce(db: Db, id: string): Promise<boolean> {
  return anyRow(db, `select from runs where id = ? and trigger = 'manual' and command is not null`, [id]);
}

export async function findRun(db: Db, serviceId: string, id: string): Promise<RunRow | undefined> {
  return db<RunRow>('runs').where({ id, service_id: serviceId }).first();
}

export function listRuns(db: Db, serviceId: string, page: PageRequest): Promise<Page<RunRow>> {
  return pageOf<RunRow>(db, 'runs', { service_id: serviceId }, page);
}

const KEPT_DAYS = 30;
const KEPT_RUNS = 1000;

/** Deletes finished runs after 30 days, and those beyond the newest 1000 of a service. Returns their number. */
export function deleteOldRuns(db: Db): Promise<number> {
  return rowCountOf(
    db,
    `with many as (
       select service_id from runs group by service_id having count(*) > ${KEPT_RUNS}
     ), ranked as (
       select id, row_number() over (partition by service_id order by created_at desc, id desc) as place
         from runs where service_id in (select service_id from many)
     )
     delete from runs
      where finished_at is not null
        and (finished_at < now() - interval '${KEPT_DAYS} days' or id in (select id from ranked where place > ${KEPT_RUNS}))
        and not exists (select from replicas r where r.run_id = runs.id and r.state <> 'stopped')`,
  );
}
