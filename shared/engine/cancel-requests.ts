import { countOf, type Db, rowCountOf, type Transaction } from '../core/database/database-client.js';
import { CHANNELS } from '../core/database/listener.js';
import type { WorkKind } from './kind.js';
import { UNHELD } from './leases.js';
import { moveOf } from './transition.js';

/** Column → the value to match; null matches every value. Column names must not come from input. */
type Match = Readonly<Record<string, string | null>>;

function openAnd(match: Match): string {
  const columns = Object.keys(match).filter((column) => match[column] !== null);
  return ['finished_at is null', ...columns.map((column) => `${column} = :${column}`)].join(' and ');
}

/**
 * Requests cancellation of matching open records and notifies their workers. Returns how many matched. Records that no
 * worker has claimed are cancelled immediately. The others become due at once.
 */
export function requestCancel(trx: Transaction, kind: WorkKind, match: Match): Promise<number> {
  const { status, possible } = moveOf(kind, 'cancelled');
  const unclaimed = kind.waiting === undefined ? 'fence = 0' : '(fence = 0 or admitted_at is null)';
  const { onEnd = {}, ended } = kind.lease ?? {};
  const changes = { status, finished_at: 'now()', ...onEnd };
  return rowCountOf(
    trx,
    `with asked as (
       update ${kind.table}
          set cancel_requested_at = coalesce(cancel_requested_at, now()), updated_at = now(),
              ${Object.entries(changes)
                .map(([column, value]) => `${column} = case when ${unclaimed} then ${value} else ${column} end`)
                .join(', ')},
              due_at = case when ${unclaimed} then null when due_at > now() then now() else due_at end
        where ${openAnd(match)} and ${possible}
        returning id, finished_at
     ) ${ended === undefined ? '' : `, ended as (${ended('asked')})`}
     select pg_notify('${CHANNELS.cancel}', cast(id as text)) from asked`,
    match,
  );
}

/**
 * Marks matching open records as failed, and ends their leases. Those whose cancellation was requested are cancelled
 * instead. `sql` sets further columns; `only` is a further condition.
 */
export async function failOpen(
  db: Db,
  kind: WorkKind,
  match: Match,
  error: string,
  { sql, only = 'true' }: { sql?: string; only?: string } = {},
): Promise<void> {
  const { status, possible } = moveOf(kind, 'failed');
  const { onEnd = {}, ended, cancellable } = kind.lease ?? {};
  // A cancelled record has no error.
  const reason = cancellable ? `case when cancel_requested_at is null then :error else '' end` : ':error';
  const sets = [
    ...Object.entries(onEnd).map(([column, value]) => `${column} = ${value}`),
    ...(sql ? [sql] : []),
    UNHELD,
  ];
  await db.raw(
    `with failed as (
       update ${kind.table} set status = ${status}, error = ${reason}, finished_at = now(), due_at = null, fence = fence + 1,
              ${sets.join(', ')}
        where ${openAnd(match)} and ${possible} and ${only}
       returning id, finished_at
     ) ${ended === undefined ? '' : `, ended as (${ended('failed')})`}
     select count(*) from failed`,
    { ...match, error },
  );
}

/**
 * Applies an event to each matching open record, makes it due and ends its lease. Returns how many changed. Skips
 * records whose cancellation was requested, and those in whose state the event is impossible. Throws if the event would
 * finish records. `after` is a common table expression, `name as (…)`, that reads the changed records from `moved`.
 */
export async function moveOpen(
  trx: Transaction,
  kind: WorkKind,
  match: Match,
  event: string,
  { sql, after }: { sql?: string; after?: string } = {},
): Promise<number> {
  const { status, possible, ends } = moveOf(kind, event);
  if (ends) throw new Error(`the event ${event} ends records, which their workers do`);
  const { cancellable, onEvent } = kind.lease ?? {};
  return countOf(
    trx,
    `with moved as (
       update ${kind.table}
          set status = ${status}, fence = fence + 1, due_at = now(),
              dispatches = dispatches + case when due_at is null then 1 else 0 end,
              ${[onEvent, sql].map((part) => (part === undefined ? '' : `${part},`)).join(' ')} ${UNHELD}
        where ${openAnd(match)} and ${possible} ${cancellable ? 'and cancel_requested_at is null' : ''}
       returning *
     ) ${after === undefined ? '' : `, ${after}`}
     select count(*) as count from moved`,
    match,
  );
}
