/** A window of a limit as one process knows it: what it may still hand out without asking, and until when. */
export interface Lease {
  /** Points that this process has taken and not handed out. */
  held: number;
  /** Points that no process had taken when this one last asked; zero means that the window is used up. */
  untaken: number;
  /** When the window ends, in the milliseconds of the caller's clock. */
  endsAt: number;
}

/** One process takes at most this part of a limit ahead, and this part of what is left of it. */
const SHARE_OF_LIMIT = 50;
const SHARE_OF_REST = 8;
const MAX_AHEAD = 200;

/**
 * How many points a process takes at once: those that wait, and some ahead so that few requests cost a write. It takes
 * none ahead for a limit below 100, for the first request of a window, and near a window's end of points. So a limit is
 * never exceeded; points that a process holds and does not use are missing to the others, at most a fiftieth of it.
 */
export function pointsToTake(limit: number, waiting: number, lease: Pick<Lease, 'untaken'> | null): number {
  if (!lease) return waiting;
  const ahead = Math.min(Math.floor(limit / SHARE_OF_LIMIT), Math.floor(lease.untaken / SHARE_OF_REST), MAX_AHEAD);
  return Math.max(waiting, ahead);
}

/** The lease after a process has taken `taken` points, with which all processes have `points` in this window. */
export function leaseOf(limit: number, taken: number, points: number, endsAt: number): Lease {
  const before = points - taken;
  return {
    held: Math.max(0, Math.min(taken, limit - before)),
    untaken: Math.max(0, limit - points),
    endsAt,
  };
}
