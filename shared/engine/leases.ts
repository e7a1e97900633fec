import { type Db, rowsOf } from '../core/database/database-client.js';
import type { WorkKind } from './kind.js';

/**
 * A worker's claim on a record. Every write by the worker compares the fence, and so changes nothing after another
 * worker has claimed the record.
 */
export interface Lease {
  id: string;
  fence: number;
}

/** Lifetime of a lease without renewal, in seconds. The dispatcher's reconciliation skips leased records. */
export const LEASE_SECONDS = 10;

/**
 * SQL assignments that claim a record. They increment its fence, so that the previous holder can no longer change it.
 * Binds `:workerId`.
 */
export const CLAIM = `fence = fence + 1, worker_id = :workerId, updated_at = now(),
  lease_expires_at = now() + interval '${LEASE_SECONDS} seconds'`;

/** SQL assignments that release a record. */
export const UNHELD = 'worker_id = null, lease_expires_at = null, updated_at = now()';

/**
 * Renews all leases that a process holds on one kind of work. A lease missing from the result is lost. Each entry of
 * the result also says whether the record's cancellation was requested.
 */
export async function renewLeases(
  db: Db,
  { table, lease }: WorkKind,
  leases: readonly Lease[],
): Promise<Map<string, { cancelRequested: boolean }>> {
  if (leases.length === 0) return new Map();
  const rows = await rowsOf<{ id: string; cancelRequested: boolean }>(
    db,
    `update ${table} r set lease_expires_at = now() + interval '${LEASE_SECONDS} seconds'
       from unnest(cast(:ids as uuid[]), cast(:fences as bigint[])) as held(id, fence)
      where r.id = held.id and r.fence = held.fence and r.finished_at is null
      returning r.id, ${lease?.cancellable ? 'r.cancel_requested_at is not null' : 'false'} as "cancelRequested"`,
    { ids: leases.map(({ id }) => id), fences: leases.map(({ fence }) => fence) },
  );
  return new Map(rows.map(({ id, cancelRequested }) => [id, { cancelRequested }]));
}
