/** Points of a rate-limit window that one process may use without querying the database. */
export interface Lease {
  /** Points that this process has leased but not used yet. */
  held: number;
  /** Points that no process had leased at this process's last query. At zero the window is used up. */
  untaken: number;
  /** The end of the window, in milliseconds of the caller's clock. */
  endsAt: number;
}

/** A process leases in advance at most 1/50 of the limit, and at most 1/8 of the points that are left. */
const SHARE_OF_LIMIT = 50;
const SHARE_OF_REST = 8;
const MAX_AHEAD = 200;

/**
 * Returns how many points a process leases: at least one per waiting request, and more in advance. Leasing in advance
 * saves a database write for most requests. No point is leased in advance if the limit is below 100, for the first
 * request in a window, or if few points are left.
 */
export function pointsToTake(limit: number, waiting: number, lease: Pick<Lease, 'untaken'> | null): number {
  if (!lease) return waiting;
  const ahead = Math.min(Math.floor(limit / SHARE_OF_LIMIT), Math.floor(lease.untaken / SHARE_OF_REST), MAX_AHEAD);
  return Math.max(waiting, ahead);
}

/** Returns the lease of a process that took `taken` of the `points` that all processes have leased. */
export function leaseOf(limit: number, taken: number, points: number, endsAt: number): Lease {
  const before = points - taken;
  return {
    held: Math.max(0, Math.min(taken, limit - before)),
    untaken: Math.max(0, limit - points),
    endsAt,
  };
}
