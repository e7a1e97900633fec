/**
 * Points of a rate-limit window that one process may use without querying the database. A request costs one point, and
 * all processes together have as many points per window as the limit allows requests.
 */
export interface Lease {
  /** Points that this process has leased but not used yet. */
  held: number;
  /**
   * Points that no process had leased at the last query. If it is zero and `held` is used up, requests are refused
   * without a query until the window ends.
   */
  untaken: number;
  /** When the window ends, in milliseconds of the clock that `SharedWindows` uses (performance.now()). */
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

/**
 * Returns the lease of a process that has just taken `taken` points. `points` is the number that all processes have
 * taken, including these. It may exceed the limit; points beyond the limit are not usable.
 */
export function leaseOf(limit: number, taken: number, points: number, endsAt: number): Lease {
  const before = points - taken;
  return {
    held: Math.max(0, Math.min(taken, limit - before)),
    untaken: Math.max(0, limit - points),
    endsAt,
  };
}
