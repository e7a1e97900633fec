import type { Knex } from 'knex';
import { type Db, rowsOf, type Transaction } from '../core/database/client.js';
import { fetchPage, type Page, type PageRequest } from '../core/database/page.js';
import { requestCancel } from '../engine/requests.js';
import { RUNS } from './kind.js';
import type { RunRow, RunTrigger } from './model.js';

/** SQL: what the next attempt of a run changes. It waits for its time and for admission. */
export function retrySql(delayMs: number): string {
  return `attempt = attempt + 1, admitted_at = null, not_before = now() + ${Math.round(delayMs)} * interval '1 millisecond'`;
}

export interface WhichRuns {
  serviceId: string;
  runId?: string | null;
  deploymentId?: string | null;
  trigger?: RunTrigger | null;
}

/**
 * Requests the cancellation of open runs that match and notifies their workers. Those that no worker carries out end at once.
 * Returns how many were open.
 */
export function cancelOpenRuns(
  trx: Transaction,
  { serviceId, runId = null, deploymentId = null, trigger = null }: WhichRuns,
): Promise<number> {
  return requestCancel(trx, RUNS, { service_id: serviceId, id: runId, deployment_id: deploymentId, trigger });
}

/** How many runs of the service have not ended: those of its own command, and those of commands that were given by hand. */
export async function countOpenRuns(db: Db, serviceId: string): Promise<{ own: number; given: number; all: number }> {
  const [row] = await rowsOf<{ own: number; given: number; all: number }>(
    db,
    `select count(*) filter (where command is null) as own,
            count(*) filter (where command is not null and trigger = 'manual') as given, count(*) as all
       from runs where service_id = ? and finished_at is null`,
    [serviceId],
  );
  return row ?? { own: 0, given: 0, all: 0 };
}

/** True if the command of a run may be started once only: somebody has given it by hand. */
export async function isStartedOnce(db: Db, id: string): Promise<boolean> {
  const run = await db<RunRow>('runs').where({ id, trigger: 'manual' }).whereNotNull('command').first('id');
  return run !== undefined;
}

export async function findRun(db: Db, serviceId: string, id: string): Promise<RunRow | undefined> {
  return db<RunRow>('runs').where({ id, service_id: serviceId }).first();
}

/** A service's runs, newest first. */
export async function listRuns(db: Db, serviceId: string, page: PageRequest): Promise<Page<RunRow>> {
  const query: Knex.QueryBuilder<RunRow> = db('runs').where({ service_id: serviceId }).select('*');
  return fetchPage(query, 'runs', page);
}

const KEPT_DAYS = 30;
const KEPT_RUNS = 1000;

/** Retention: deletes runs that ended more than 30 days ago, and all but the newest 1000 of a service. Returns how many. */
export async function deleteOldRuns(db: Db): Promise<number> {
  const rows = await rowsOf<{ id: string }>(
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
        and not exists (select from replicas r where r.run_id = runs.id and r.state <> 'stopped')
      returning id`,
  );
  return rows.length;
}
