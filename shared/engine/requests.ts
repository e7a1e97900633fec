import { type Db, rowsOf, type Transaction } from '../core/database/client.js';
import { CHANNELS } from '../core/database/listener.js';
import type { WorkKind } from './kind.js';
import { UNHELD } from './leases.js';
import { statesOf } from './transition.js';

/** Values of columns that records have. A value of null matches every record. Names are ours, never input. */
type Match = Readonly<Record<string, string | null>>;

/** SQL: open records that match and in whose state the event can happen, and the status after it. */
function openWith(kind: WorkKind, event: string, match: Match): { where: string; status: string } {
  const moves = Object.entries(statesOf(kind)).flatMap(([from, row]) =>
    row[event] === undefined ? [] : [{ from, to: row[event] }],
  );
  const columns = Object.keys(match).filter((column) => match[column] !== null);
  const states = moves.map(({ from }) => `'${from}'`).join(', ');
  return {
    where: [...columns.map((column) => `${column} = :${column}`), 'finished_at is null', `status in (${states})`].join(
      ' and ',
    ),
    status: `case status ${moves.map(({ from, to }) => `when '${from}' then '${to}'`).join(' ')} end`,
  };
}

/**
 * Requests the cancellation of the open records that match, and notifies their workers. Those that no worker carries out end at once.
 * Returns how many were open.
 */
export async function requestCancel(trx: Transaction, kind: WorkKind, match: Match): Promise<number> {
  const { where, status } = openWith(kind, 'cancelled', match);
  const unclaimed = kind.waiting === undefined ? 'fence = 0' : '(fence = 0 or admitted_at is null)';
  const { onEnd = {}, ended } = kind.lease ?? {};
  const changes = { status, finished_at: 'now()', due_at: 'null', ...onEnd };
  const rows = await rowsOf(
    trx,
    `with asked as (
       update ${kind.table}
          set cancel_requested_at = coalesce(cancel_requested_at, now()), updated_at = now(),
              ${Object.entries(changes)
                .map(([column, value]) => `${column} = case when ${unclaimed} then ${value} else ${column} end`)
                .join(', ')}
        where ${where}
        returning id, finished_at
     ) ${ended === undefined ? '' : `, ended as (${ended('asked')})`}
     select pg_notify('${CHANNELS.cancel}', cast(id as text)) from asked`,
    match,
  );
  return rows.length;
}

/**
 * Ends the open records that match as failed, although a worker may hold them: it notices that its lease is lost. `sql` sets further
 * columns.
 */
export async function failOpen(db: Db, kind: WorkKind, match: Match, error: string, sql: string): Promise<void> {
  const { where, status } = openWith(kind, 'failed', match);
  await db.raw(
    `update ${kind.table} set status = ${status}, error = :error, finished_at = now(), due_at = null, fence = fence + 1,
            ${sql}, ${UNHELD}
      where ${where}`,
    { ...match, error },
  );
}
