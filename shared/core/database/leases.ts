import { type Db, rowsOf } from './client.js';

/**
 * A worker's hold on a record. Every write of the worker names the fence, and changes nothing after another worker has
 * claimed the record.
 */
export interface Lease {
  id: string;
  fence: number;
}

/** The tables whose open records are held by leases. */
export type LeasedTable = 'deployments' | 'operations' | 'runs' | 'backups';

/** Seconds that a lease lasts without renewal. The dispatcher's reconciliation skips leased records. */
export const LEASE_SECONDS = 10;

/** SQL: claims a record. Raises its fence, so that the last holder can change nothing more. Binds `:workerId`. */
export const CLAIM = `fence = fence + 1, worker_id = :workerId, updated_at = now(),
  lease_expires_at = now() + interval '${LEASE_SECONDS} seconds'`;

/** SQL: ends the hold of a record. */
export const UNHELD = 'worker_id = null, lease_expires_at = null, updated_at = now()';

/**
 * SQL: no worker works on another record of the workspace of `claimed`. Hold `lockUntilCommit` for the table, so that no two records are
 * claimed at once. `such` restricts the records that count.
 */
export function aloneInWorkspace(table: LeasedTable, such = 'true'): string {
  return `not exists (select from ${table} o where o.workspace_id = claimed.workspace_id and o.id <> claimed.id
    and o.finished_at is null and o.lease_expires_at > now() and ${such})`;
}

const CANCELLED: Record<LeasedTable, string> = {
  deployments: 'r.cancel_requested_at is not null',
  operations: 'false',
  runs: 'r.cancel_requested_at is not null',
  backups: 'false',
};

/**
 * Renews the leases of one process in one statement. The result has an entry for each lease that is still held, with
 * whether the record's cancellation was requested. A lease without an entry is lost.
 */
export async function renewLeases(
  db: Db,
  table: LeasedTable,
  leases: readonly Lease[],
): Promise<Map<string, { cancelRequested: boolean }>> {
  if (leases.length === 0) return new Map();
  const rows = await rowsOf<{ id: string; cancelRequested: boolean }>(
    db,
    `update ${table} r set lease_expires_at = now() + interval '${LEASE_SECONDS} seconds'
       from unnest(cast(:ids as uuid[]), cast(:fences as bigint[])) as held(id, fence)
      where r.id = held.id and r.fence = held.fence and r.finished_at is null
      returning r.id, ${CANCELLED[table]} as "cancelRequested"`,
    { ids: leases.map(({ id }) => id), fences: leases.map(({ fence }) => fence) },
  );
  return new Map(rows.map(({ id, cancelRequested }) => [id, { cancelRequested }]));
}

/** Releases the lease of a record that has not ended: the next worker may claim it at once. */
export async function releaseLease(db: Db, table: LeasedTable, { id, fence }: Lease): Promise<void> {
  await db.raw(`update ${table} set ${UNHELD} where id = :id and fence = :fence and finished_at is null`, {
    id,
    fence,
  });
}
