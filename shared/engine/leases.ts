import { type Db, rowsOf } from '../core/database/database-client.js';
import type { WorkKind } from './kind.js';

/** A worker's claim on a record. A write with an older `fence` than the record's changes nothing. */
export interface Lease {
  id: string;
  fence: number;
}

export const LEASE_SECONDS = 10;

/** SQL assignments. The new fence keeps the previous holder from changing the record. */
export const CLAIM = `fence = fence + 1, worker_id = :workerId, updated_at = now(),
  lease_expires_at = now() + interval '${LEASE_SECONDS} seconds'`;

export const UNHELD = 'worker_id = null, lease_expires_at = null, updated_at = now()';

/** Renews the leases that a process holds on one kind of work. A lease missing from the result is lost. */
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
