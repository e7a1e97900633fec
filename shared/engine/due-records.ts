import { anyRow, type Db, returnedRow, rowsOf, type Transaction } from '../core/database/database-client.js';
import { type Prepared, prepare, rowOfPrepared, rowsOfPrepared } from '../core/database/prepared.js';
import type { WorkKind } from './kind.js';

/** `dispatches` counts the jobs created for the record, and is part of the job's id. */
export interface DueRecord {
  id: string;
  dispatches: number;
  kind: string | null;
}

function preparedOnce<Key extends object, Row>(sql: (key: Key) => string): (key: Key) => Prepared<Row> {
  const known = new WeakMap<Key, Prepared<Row>>();
  return (key) => {
    const found = known.get(key) ?? prepare<Row>(sql(key));
    known.set(key, found);
    return found;
  };
}

function queueColumn({ queueBy }: WorkKind): string {
  return queueBy?.column ?? 'null::text';
}

function isDue({ due }: WorkKind): string {
  return `${due === undefined ? '' : `${due} and `}due_at <= now()`;
}

export interface WaitingWork {
  waiting: string[];
  due: string[];
}

const WAITING = preparedOnce<readonly WorkKind[], WaitingWork>((kinds) => {
  const tables = (conditions: [table: string, condition: string][]) =>
    `array(${conditions.map(([table, of]) => `select '${table}' where exists (select from ${table} where ${of})`).join(' union all ')})`;
  const waiting = kinds.flatMap(({ table, waiting: of }): [string, string][] =>
    of === undefined ? [] : [[table, of]],
  );
  return `select ${tables(waiting)} as waiting, ${tables(kinds.map((kind) => [kind.table, isDue(kind)]))} as due`;
});

/** Returns which tables have records to admit or dispatch. An idle dispatcher makes only this query. */
export async function waitingWork(db: Db, kinds: readonly WorkKind[]): Promise<WaitingWork> {
  return returnedRow(await rowOfPrepared(db, WAITING(kinds), []));
}

const TAKE = preparedOnce<WorkKind, DueRecord>(
  (kind) =>
    `with due as (
       select id, due_at from ${kind.table} where ${isDue(kind)} order by due_at, id limit $1 for update skip locked
     ), taken as (
       update ${kind.table} r set due_at = null from due where r.id = due.id
       returning r.id, r.dispatches, ${queueColumn(kind)} as kind, due.due_at
     )
     select id, dispatches, kind from taken order by due_at, id`,
);

/**
 * Takes due records, oldest first. They are no longer due once the transaction commits. Skips records that another
 * process is taking.
 */
export async function takeDue(trx: Transaction, kind: WorkKind, limit: number): Promise<DueRecord[]> {
  return rowsOfPrepared(trx, TAKE(kind), [limit]);
}

/** Makes a record due again after `delayMs`. Returns false if the record is due or has a newer job. */
export function makeDue(
  db: Db,
  { table }: WorkKind,
  { id, dispatches }: { id: string; dispatches: number },
  delayMs = 0,
): Promise<boolean> {
  return anyRow(
    db,
    `update ${table} set dispatches = dispatches + 1, due_at = now() + :delayMs * interval '1 millisecond'
      where id = :id and dispatches = :dispatches and due_at is null`,
    { id, dispatches, delayMs },
  );
}

export interface AbandonedRecord extends DueRecord {
  table: string;
}

function abandonedSql(kind: WorkKind): string[] {
  const { table, abandoned, waiting, lease } = kind;
  if (abandoned === null) return [];
  const conditions = [
    abandoned.open,
    ...(waiting === undefined ? [] : ['admitted_at is not null']),
    'due_at is null',
    ...(lease === null ? [] : ['(lease_expires_at is null or lease_expires_at < now())']),
    `${abandoned.touched} < now() - :idleSeconds * interval '1 second'`,
  ];
  return [
    `(select ${abandoned.distinct ?? ''} '${table}' as "table", id, dispatches, ${queueColumn(kind)} as kind from ${table}
       where ${conditions.join(' and ')} order by ${abandoned.order} limit 500)`,
  ];
}

/** Returns open records that no worker holds and that are unchanged for `idleSeconds`, oldest first. */
export async function findAbandoned(
  db: Db,
  kinds: readonly WorkKind[],
  idleSeconds: number,
): Promise<AbandonedRecord[]> {
  return rowsOf<AbandonedRecord>(db, kinds.flatMap(abandonedSql).join(' union all '), { idleSeconds });
}
