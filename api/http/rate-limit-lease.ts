/** One process's lease of a window: the points that it may hand out without asking, and until when. */
export interface Lease {
  /** Points that this process has leased and not handed out. */
  held: number;
  /** Points that were free when this process last asked. At zero the window is used up. */
  untaken: number;
  /** The end of the window in milliseconds of the caller's clock. */
  endsAt: number;
}

/** One process leases at most this fraction of a limit ahead, and this fraction of the points left. */
const SHARE_OF_LIMIT = 50;
const SHARE_OF_REST = 8;
const MAX_AHEAD = 200;

/**
 * Returns how many points a process leases at once: one for each waiting request, and some ahead.
 * Leasing ahead makes most requests cost no write. None is leased ahead for a limit below 100, for the first request of
 * a window, and when few points are left. At most a fiftieth of the limit is leased and unused.
 */
export function pointsToTake(limit: number, waiting: number, lease: Pick<Lease, 'untaken'> | null): number {
  if (!lease) return waiting;
  const ahead = Math.min(Math.floor(limit / SHARE_OF_LIMIT), Math.floor(lease.untaken / SHARE_OF_REST), MAX_AHEAD);
  return Math.max(waiting, ahead);
}

/** Returns the lease of a process that has leased `taken` of all leased `points`. */
export function leaseOf(limit: number, taken: number, points: number, endsAt: number): Lease {
  const before = points - taken;
  return {
    held: Math.max(0, Math.min(taken, limit - before)),
    untaken: Math.max(0, limit - points),
    endsAt,
  };
}
