import { type Db, lockUntilCommit, oneRow } from '../core/database/client.js';
import type { States, WorkKind } from './kind.js';
import { CLAIM, type Lease, UNHELD } from './leases.js';

/**
 * Events of every kind that has a table of states. `claimed`: a worker holds the record. `released`: it gave the record to others.
 * `handedBack`: a fault of the platform, the same job is tried again. What ends a record is the kind's own: `succeeded`,
 * `failed`, `cancelled`.
 */
const HOLDS = new Set(['claimed', 'released', 'handedBack']);

/** The columns that every kind with leases has. */
export interface WorkRow extends Lease {
  status: string;
  dispatches: number;
  cancel_requested_at?: Date | null;
}

export interface Change {
  /** Columns that change with the status. Names are ours, never input. */
  set?: Readonly<Record<string, string | number | Buffer | Date | null>>;
  /** SQL: further assignments, without bindings. */
  sql?: string;
  /** A further job becomes due after this time, in milliseconds. */
  dueInMs?: number;
}

/** Returns a kind's table of states. Throws if it has none. */
export function statesOf({ table, lease }: WorkKind): States {
  if (lease?.states === undefined) throw new Error(`${table} has no table of states`);
  return lease.states;
}

/** SQL: the status after an event, by the status before it. A requested cancellation wins over every other end. */
function statusAfter(kind: WorkKind, event: string): { status: string; from: string[]; ends: boolean } {
  const states = statesOf(kind);
  const moves = Object.entries(states).flatMap(([from, row]) => {
    const to = row[event];
    return to === undefined ? [] : [{ from, to, cancelled: row.cancelled }];
  });
  if (moves.length === 0) throw new Error(`nothing of ${kind.table} can be ${event}`);
  const ends = moves.every(({ to }) => Object.keys(states[to] ?? {}).length === 0);
  const cases = moves.map(({ from, to, cancelled }) => {
    const wins = ends && kind.lease?.cancellable && cancelled !== undefined;
    const next = wins ? `case when cancel_requested_at is null then '${to}' else '${cancelled}' end` : `'${to}'`;
    return `when '${from}' then ${next}`;
  });
  return { status: `case status ${cases.join(' ')} end`, from: moves.map(({ from }) => from), ends };
}

/**
 * Changes the status of a record that `lease` holds, as the kind's table of states says: the only function that does so. Returns
 * the record as it is afterwards. Returns null, and changes nothing, if the lease is lost or if the event cannot happen in the
 * record's state; so also if a cancellation was requested that must be carried out first. Throws if the event cannot happen
 * in any state.
 */
export function transition<Row extends WorkRow>(
  db: Db,
  kind: WorkKind,
  { id, fence }: Lease,
  event: string,
  { set = {}, sql, dueInMs }: Change = {},
): Promise<Row | null> {
  const { status, from, ends } = statusAfter(kind, event);
  const waits = kind.lease?.cancellable && !ends && !HOLDS.has(event);
  const assignments = [
    `status = ${status}`,
    ...Object.keys(set).map((column) =>
      // A record that is cancelled has no error.
      column === 'error' && ends && kind.lease?.cancellable
        ? `error = case when cancel_requested_at is null then :error else '' end`
        : `${column} = :${column}`,
    ),
    ...(sql === undefined ? [] : [sql]),
    ...(ends ? ['finished_at = now()'] : []),
    ...(dueInMs === undefined
      ? []
      : [
          'dispatches = dispatches + case when due_at is null then 1 else 0 end',
          `due_at = coalesce(due_at, now() + :dueInMs * interval '1 millisecond')`,
        ]),
    UNHELD,
  ];
  return oneRow<Row>(
    db,
    `update ${kind.table} set ${assignments.join(', ')}
      where id = :id and fence = :fence and finished_at is null and status in (${from.map((state) => `'${state}'`).join(', ')})
        ${waits ? 'and cancel_requested_at is null' : ''} returning *`,
    { ...set, id, fence, ...(dueInMs === undefined ? {} : { dueInMs }) },
  );
}

/**
 * Claims a record: raises its fence, so that the last holder can change nothing more. Null if it has ended, if it waits for admission, or
 * if it must wait for another one of its workspace.
 */
export async function claim<Row extends WorkRow>(
  db: Db,
  kind: WorkKind,
  id: string,
  workerId: string,
): Promise<Row | null> {
  const { status } = statusAfter(kind, 'claimed');
  const alone = kind.lease?.aloneInWorkspace;
  const sets = [`status = ${status}`, CLAIM, ...(kind.lease?.onClaim === undefined ? [] : [kind.lease.onClaim])];
  const admitted = kind.waiting === undefined ? '' : 'and admitted_at is not null';
  const take = (on: Db, condition: string) =>
    oneRow<Row>(
      on,
      `update ${kind.table} claimed set ${sets.join(', ')}
        where id = :id and finished_at is null ${admitted} ${condition} returning *`,
      { id, workerId },
    );
  const free = alone === 'true' ? null : await take(db, alone === undefined ? '' : `and not (${alone})`);
  if (free !== null || alone === undefined) return free;
  return db.transaction(async (trx) => {
    // Otherwise two workers could claim two records at once.
    await lockUntilCommit(trx, `ranvier.claims:${kind.table}`);
    return take(
      trx,
      `and not (${alone} and exists (select from (select * from ${kind.table} where ${alone}) other
           where other.workspace_id = claimed.workspace_id and other.id <> claimed.id
             and other.finished_at is null and other.lease_expires_at > now()))`,
    );
  });
}

/** An open record, or null. */
export function openRecord<Row extends WorkRow>(db: Db, kind: WorkKind, id: string): Promise<Row | null> {
  return oneRow<Row>(db, `select * from ${kind.table} where id = :id and finished_at is null`, { id });
}
