/** Points of a rate-limit window that one process may use without querying the database. A request costs one point. */
export interface Lease {
  held: number;
  /** Points that no process had leased at the last query. Without them, requests are refused until the window ends. */
  untaken: number;
  /** When the window ends, in milliseconds of performance.now(). */
  endsAt: number;
}

/** A process leases in advance at most 1/50 of the limit, and at most 1/8 of the points that are left. */
const SHARE_OF_LIMIT = 50;
const SHARE_OF_REST = 8;
const MAX_AHEAD = 200;

/** Returns how many points a process leases. Leasing in advance saves a database write for most requests. */
export function pointsToTake(limit: number, waiting: number, lease: Pick<Lease, 'untaken'> | null): number {
  if (!lease) return waiting;
  const ahead = Math.min(Math.floor(limit / SHARE_OF_LIMIT), Math.floor(lease.untaken / SHARE_OF_REST), MAX_AHEAD);
  return Math.max(waiting, ahead);
}

/** Returns the lease of a process that has taken `taken` points. All processes together have taken `points`. */
export function leaseOf(limit: number, taken: number, points: number, endsAt: number): Lease {
  const before = points - taken;
  return {
    held: Math.max(0, Math.min(taken, limit - before)),
    untaken: Math.max(0, limit - points),
    endsAt,
  };
}
