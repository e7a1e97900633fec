import { type Db, rowCountOf, type Transaction } from '../core/database/database-client.js';
import { CHANNELS } from '../core/database/listener.js';
import type { WorkKind } from './kind.js';
import { UNHELD } from './leases.js';
import { moveOf } from './transition.js';

/**
 * Values of columns by which records are selected. Null matches every record. Names come from code, never from input.
 */
type Match = Readonly<Record<string, string | null>>;

/** Returns SQL: open records that match. */
function openAnd(match: Match): string {
  const columns = Object.keys(match).filter((column) => match[column] !== null);
  return ['finished_at is null', ...columns.map((column) => `${column} = :${column}`)].join(' and ');
}

/**
 * Requests the cancellation of matching open records, and notifies their workers. Returns their number.
 * Those that no worker has claimed end at once.
 */
export function requestCancel(trx: Transaction, kind: WorkKind, match: Match): Promise<number> {
  const { status, possible } = moveOf(kind, 'cancelled');
  const unclaimed = kind.waiting === undefined ? 'fence = 0' : '(fence = 0 or admitted_at is null)';
  const { onEnd = {}, ended } = kind.lease ?? {};
  const changes = { status, finished_at: 'now()', due_at: 'null', ...onEnd };
  return rowCountOf(
    trx,
    `with asked as (
       update ${kind.table}
          set cancel_requested_at = coalesce(cancel_requested_at, now()), updated_at = now(),
              ${Object.entries(changes)
                .map(([column, value]) => `${column} = case when ${unclaimed} then ${value} else ${column} end`)
                .join(', ')}
        where ${openAnd(match)} and ${possible}
        returning id, finished_at
     ) ${ended === undefined ? '' : `, ended as (${ended('asked')})`}
     select pg_notify('${CHANNELS.cancel}', cast(id as text)) from asked`,
    match,
  );
}

/** Ends matching open records as failed. A worker that holds one loses its lease. `sql` sets further columns. */
export async function failOpen(db: Db, kind: WorkKind, match: Match, error: string, sql: string): Promise<void> {
  const { status, possible } = moveOf(kind, 'failed');
  await db.raw(
    `update ${kind.table} set status = ${status}, error = :error, finished_at = now(), due_at = null, fence = fence + 1,
            ${sql}, ${UNHELD}
      where ${openAnd(match)} and ${possible}`,
    { ...match, error },
  );
}
