import { type Db, lockUntilCommit, rowsOf } from '../core/database/database-client.js';
import { rowsOfNamed } from '../core/database/prepared.js';
import type { States, WorkKind } from './kind.js';
import { CLAIM, type Lease, UNHELD } from './leases.js';

/** The events of a lease. `handedBack`: a platform fault interrupted the work, and the job is retried. */
const HOLDS = new Set(['claimed', 'released', 'handedBack']);

export interface WorkRow extends Lease {
  status: string;
  worker_id: string | null;
  dispatches: number;
  cancel_requested_at?: Date | null;
}

type Values = Readonly<Record<string, string | number | Buffer | Date | null>>;

export interface Change {
  /** Columns to change with the status. Their names must not come from input. */
  set?: Values;
  sql?: string;
  /** Makes the record due for another job after this time. */
  dueInMs?: number;
  beside?: Beside;
}

export interface Beside {
  /** A common table expression, `name as (…)`, that precedes the update. */
  before?: string;
  only?: string;
  /** A common table expression that reads the changed record from `moved`. */
  after?: string;
  columns?: string;
  values?: Values;
}

/** Returns the states of a kind of work. Throws if the kind has no leases. */
export function statesOf({ table, lease }: WorkKind): States {
  if (lease === null) throw new Error(`${table} has no table of states`);
  return lease.states;
}

function isEnd(states: States, state: string): boolean {
  return Object.keys(states[state] ?? {}).length === 0;
}

interface Move {
  /** SQL expression. */
  status: string;
  /** SQL condition. */
  possible: string;
  ends: boolean;
  /** True if no worker holds the record afterwards. */
  leaves: boolean;
}

/**
 * Returns how an event changes the status of records. Throws if no state allows the event. If a record's cancellation
 * was requested, an event that finishes the record cancels it instead.
 */
export function moveOf(kind: WorkKind, event: string): Move {
  const states = statesOf(kind);
  const holds = HOLDS.has(event);
  const moves = Object.entries(states).flatMap(([from, row]) => {
    const to = row[event] ?? (holds && !isEnd(states, from) ? from : undefined);
    return to === undefined ? [] : [{ from, to, cancelled: row.cancelled }];
  });
  if (moves.length === 0) throw new Error(`nothing of ${kind.table} can be ${event}`);
  const ends = moves.every(({ to }) => isEnd(states, to));
  // In a state in which the event `claimed` changes the status, the record waits for a worker.
  const waits = moves.every(({ to }) => (states[to]?.claimed ?? to) !== to);
  const cases = moves.map(({ from, to, cancelled }) => {
    const wins = ends && kind.lease?.cancellable && cancelled !== undefined;
    const next = wins ? `case when cancel_requested_at is null then '${to}' else '${cancelled}' end` : `'${to}'`;
    return `when '${from}' then ${next}`;
  });
  return {
    status: `case status ${cases.join(' ')} end`,
    possible: `status in (${moves.map(({ from }) => `'${from}'`).join(', ')})`,
    ends,
    leaves: ends || holds || waits,
  };
}

function columnsOf({ lease }: WorkKind, of: string): string {
  return (lease?.columns ?? ['*']).map((column) => `${of}.${column}`).join(', ');
}

async function rowOf<Row>(db: Db, { lease }: WorkKind, sql: string, values: Values): Promise<Row | null> {
  const rows =
    lease?.columns === undefined ? await rowsOf<Row>(db, sql, values) : await rowsOfNamed<Row>(db, sql, values);
  return rows[0] ?? null;
}

/**
 * Applies an event to the record that `lease` holds, and returns the changed record. Returns null if the lease is lost,
 * the event is impossible in the record's state, or the work must stop because its cancellation was requested. Throws
 * if no state allows the event.
 */
export function transition<Row extends WorkRow>(
  db: Db,
  kind: WorkKind,
  { id, fence }: Lease,
  event: string,
  { set = {}, sql, dueInMs, beside = {} }: Change = {},
): Promise<Row | null> {
  const { status, possible, ends, leaves } = moveOf(kind, event);
  const { cancellable, onEvent, onEnd = {}, ended } = kind.lease ?? {};
  const waits = cancellable && !ends && !HOLDS.has(event);
  const assignments = [
    `status = ${status}`,
    ...Object.keys(set).map((column) =>
      // A cancelled record has no error.
      column === 'error' && ends && cancellable
        ? `error = case when cancel_requested_at is null then :error else '' end`
        : `${column} = :${column}`,
    ),
    ...(sql === undefined ? [] : [sql]),
    ...(onEvent === undefined || HOLDS.has(event) ? [] : [onEvent]),
    ...(ends ? ['finished_at = now()', ...Object.entries(onEnd).map(([column, value]) => `${column} = ${value}`)] : []),
    ...(dueInMs === undefined
      ? []
      : [
          'dispatches = dispatches + case when due_at is null then 1 else 0 end',
          `due_at = coalesce(due_at, now() + cast(:dueInMs as integer) * interval '1 millisecond')`,
        ]),
    leaves ? UNHELD : 'updated_at = now()',
  ];
  const statements = [
    ...(beside.before === undefined ? [] : [beside.before]),
    `moved as (
       update ${kind.table} record set ${assignments.join(', ')}
        where id = :id and fence = :fence and worker_id is not null and finished_at is null
          and ${possible}
          ${waits ? 'and cancel_requested_at is null' : ''} ${beside.only === undefined ? '' : `and ${beside.only}`}
        returning ${ended === undefined && beside.after === undefined ? columnsOf(kind, 'record') : 'record.*'})`,
    ...(ends && ended !== undefined ? [`ended as (${ended('moved')})`] : []),
    ...(beside.after === undefined ? [] : [beside.after]),
  ];
  return rowOf<Row>(
    db,
    kind,
    `with ${statements.join(', ')}
     select ${columnsOf(kind, 'moved')} ${beside.columns === undefined ? '' : `, ${beside.columns}`} from moved`,
    { ...set, ...beside.values, id, fence, ...(dueInMs === undefined ? {} : { dueInMs }) },
  );
}

/** SQL to add to the statement of a claim. Neither part may have parameters. */
export interface ClaimRules {
  only?: string;
  sql?: string;
}

/**
 * Claims a record for a worker. Returns null if the record has finished, waits for admission, does not meet the
 * condition `only`, or must wait for another record of its workspace.
 */
export async function claim<Row extends WorkRow>(
  db: Db,
  kind: WorkKind,
  id: string,
  workerId: string,
  { only, sql }: ClaimRules = {},
): Promise<Row | null> {
  const { onClaim, aloneInWorkspace: alone } = kind.lease ?? {};
  const sets = [`status = ${moveOf(kind, 'claimed').status}`, CLAIM, onClaim, sql];
  const admitted = kind.waiting === undefined ? '' : 'and admitted_at is not null';
  const take = (on: Db, ...conditions: (string | undefined)[]) =>
    rowOf<Row>(
      on,
      kind,
      `update ${kind.table} claimed set ${sets.filter((part) => part !== undefined).join(', ')}
        where id = :id and finished_at is null ${admitted}
          ${[only, ...conditions].map((condition) => (condition === undefined ? '' : `and ${condition}`)).join(' ')}
        returning ${columnsOf(kind, 'claimed')}`,
      { id, workerId },
    );
  const free = alone === 'true' ? null : await take(db, alone === undefined ? undefined : `not (${alone})`);
  if (free !== null || alone === undefined) return free;
  return db.transaction(async (trx) => {
    // Otherwise two workers could each claim a record of one workspace at the same time.
    await lockUntilCommit(trx, `ranvier.claims:${kind.table}`);
    return take(
      trx,
      `not (${alone} and exists (select from (select * from ${kind.table} where ${alone}) other
           where other.workspace_id = claimed.workspace_id and other.id <> claimed.id
             and other.finished_at is null and other.lease_expires_at > now()))`,
    );
  });
}

/** Returns a record that has not finished, or null. */
export function openRecord<Row extends WorkRow>(db: Db, kind: WorkKind, id: string): Promise<Row | null> {
  return rowOf<Row>(
    db,
    kind,
    `select ${columnsOf(kind, 'record')} from ${kind.table} record where id = :id and finished_at is null`,
    { id },
  );
}
