import { type Db, returnedRow, rowsOf, type Transaction } from '../core/database/client.js';
import { type Prepared, prepare, rowOfPrepared, rowsOfPrepared } from '../core/database/prepared.js';

/**
 * Records that need a job. `due_at` is set in the transaction that makes the job necessary and cleared when the job was
 * handed to the queue engine; `dispatches` counts the jobs made for the record and is part of the job's id.
 */
export type DispatchedTable =
  | 'deployments'
  | 'operations'
  | 'runs'
  | 'backups'
  | 'log_batches'
  | 'detections'
  | 'commit_events';

export interface DueRecord {
  id: string;
  dispatches: number;
  /** What kind of operation it is; null for the other tables. */
  kind: string | null;
}

const KIND: Record<DispatchedTable, string> = {
  deployments: 'null::text',
  operations: 'kind',
  runs: 'null::text',
  backups: 'null::text',
  log_batches: 'null::text',
  detections: 'null::text',
  commit_events: 'null::text',
};

/** SQL: a record that is due. A deployment is due from its admission on, so that the index of what runs has those that are. */
function isDue(table: string): string {
  return `${table === 'deployments' ? 'finished_at is null and admitted_at is not null and ' : ''}due_at <= now()`;
}

export interface WaitingWork {
  /** A deployment or a run waits for admission. */
  deployment: boolean;
  run: boolean;
  /** The tables that have due records. */
  due: DispatchedTable[];
}

const WAITING = prepare<WaitingWork>(
  `select exists (select from deployments where finished_at is null and admitted_at is null) as deployment,
          exists (select from runs where finished_at is null and admitted_at is null and not_before <= now()) as run,
          array(${Object.keys(KIND)
            .map((name) => `select '${name}' where exists (select from ${name} where ${isDue(name)})`)
            .join(' union all ')}) as due`,
);

/** What there is to dispatch. Most runs find nothing, and then this is their only statement. */
export async function waitingWork(db: Db): Promise<WaitingWork> {
  return returnedRow(await rowOfPrepared(db, WAITING, []));
}

const TABLES = Object.keys(KIND) as DispatchedTable[];
const TAKE = Object.fromEntries(
  TABLES.map((table) => [
    table,
    prepare<DueRecord>(
      `with due as (
         select id, due_at from ${table} where ${isDue(table)} order by due_at, id limit $1 for update skip locked
       ), taken as (
         update ${table} r set due_at = null from due where r.id = due.id
         returning r.id, r.dispatches, ${KIND[table]} as kind, due.due_at
       )
       select id, dispatches, kind from taken order by due_at, id`,
    ),
  ]),
) as Record<DispatchedTable, Prepared<DueRecord>>;

/**
 * Takes due records, the longest due first. They stop being due when the transaction commits. Records that another process
 * is taking are skipped.
 */
export async function takeDue(trx: Transaction, table: DispatchedTable, limit: number): Promise<DueRecord[]> {
  return rowsOfPrepared(trx, TAKE[table], [limit]);
}

/**
 * Makes a further job due for a record whose last job was number `dispatches`, in `delayMs` from now. False if another
 * process did so meanwhile.
 */
export async function makeDue(
  db: Db,
  table: DispatchedTable,
  { id, dispatches }: { id: string; dispatches: number },
  delayMs = 0,
): Promise<boolean> {
  const rows = await rowsOf<{ id: string }>(
    db,
    `update ${table} set dispatches = dispatches + 1, due_at = now() + :delayMs * interval '1 millisecond'
      where id = :id and dispatches = :dispatches and due_at is null returning id`,
    { id, dispatches, delayMs },
  );
  return rows.length > 0;
}

/** An open record without a lease that has waited longer than a job should need. */
export interface AbandonedRecord extends DueRecord {
  table: DispatchedTable;
}

/** Open records that no worker holds and that nothing has touched for `idleSeconds`, the oldest first. */
export async function findAbandoned(db: Db, idleSeconds: number): Promise<AbandonedRecord[]> {
  return rowsOf<AbandonedRecord>(
    db,
    `(select 'deployments' as "table", id, dispatches, null::text as kind from deployments
       where finished_at is null and admitted_at is not null and due_at is null
         and (lease_expires_at is null or lease_expires_at < now())
         and updated_at < now() - :idleSeconds * interval '1 second'
       order by number limit 500)
     union all
     (select 'operations', id, dispatches, kind from operations
       where finished_at is null and due_at is null and (lease_expires_at is null or lease_expires_at < now())
         and updated_at < now() - :idleSeconds * interval '1 second'
       order by created_at limit 500)
     union all
     (select 'runs', id, dispatches, null from runs
       where finished_at is null and admitted_at is not null and due_at is null
         and (lease_expires_at is null or lease_expires_at < now())
         and updated_at < now() - :idleSeconds * interval '1 second'
       order by created_at limit 500)
     union all
     (select 'commit_events', id, dispatches, null from commit_events
       where finished_at is null and due_at is null and created_at < now() - :idleSeconds * interval '1 second'
       order by created_at limit 500)
     union all
     (select 'backups', id, dispatches, null from backups
       where finished_at is null and due_at is null and (lease_expires_at is null or lease_expires_at < now())
         and updated_at < now() - :idleSeconds * interval '1 second'
       order by created_at limit 500)
     union all
     (select distinct on (service_id) 'log_batches', id, dispatches, null from log_batches
       where due_at is null and created_at < now() - :idleSeconds * interval '1 second'
       order by service_id, created_at limit 500)`,
    { idleSeconds },
  );
}
