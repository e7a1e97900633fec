import { type Db, rowCountOf, type Transaction } from '../core/database/client.js';
import { CHANNELS } from '../core/database/listener.js';
import type { WorkKind } from './kind.js';
import { UNHELD } from './leases.js';
import { moveOf } from './transition.js';

/** Values of columns that records have. A value of null matches every record. Names are ours, never input. */
type Match = Readonly<Record<string, string | null>>;

/** SQL: open records that match. */
function openAnd(match: Match): string {
  const columns = Object.keys(match).filter((column) => match[column] !== null);
  return ['finished_at is null', ...columns.map((column) => `${column} = :${column}`)].join(' and ');
}

/**
 * Requests the cancellation of the open records that match, and notifies their workers. Those that no worker carries out end at
 * once. Returns how many were open.
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

/** Ends the open records that match as failed. A worker that holds one loses its lease. `sql` sets further columns. */
export async function failOpen(db: Db, kind: WorkKind, match: Match, error: string, sql: string): Promise<void> {
  const { status, possible } = moveOf(kind, 'failed');
  await db.raw(
    `update ${kind.table} set status = ${status}, error = :error, finished_at = now(), due_at = null, fence = fence + 1,
            ${sql}, ${UNHELD}
      where ${openAnd(match)} and ${possible}`,
    { ...match, error },
  );
}
