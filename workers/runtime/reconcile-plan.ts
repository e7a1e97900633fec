const SWEEP_MS = 60_000;
/** The wait after a failed reconciliation, in milliseconds. It doubles with each further failure. */
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 60_000;

/** What a supervisor knows when it starts one pass over the replicas of its host. */
export interface ObservedHost {
  /** Ids of the host's rows that are not stopped. */
  rows: readonly string[];
  /** Ids of the replicas that have a controller. */
  controlled: Iterable<string>;
  /** Ids of the replicas whose controller is working. */
  busy: ReadonlySet<string>;
  /** When each failed replica is tried again, in milliseconds since the epoch. */
  retries: ReadonlyMap<string, { at: number }>;
  /** When the last sweep began, in milliseconds since the epoch. */
  sweptAt: number;
  /** True while a sweep runs. */
  sweeping: boolean;
}

export interface ReconcilePlan {
  sweep: boolean;
  /** Controllers to drop: their rows are gone. */
  drop: string[];
  /** Replicas to reconcile, in the order of the rows. */
  reconcile: string[];
}

/** Decides one pass of a supervisor. `now` is in milliseconds since the epoch. */
export function planPass(
  { rows, controlled, busy, retries, sweptAt, sweeping }: ObservedHost,
  now: number,
): ReconcilePlan {
  const present = new Set(rows);
  return {
    sweep: !sweeping && now - sweptAt > SWEEP_MS,
    drop: [...controlled].filter((id) => !present.has(id) && !busy.has(id)),
    reconcile: rows.filter((id) => !busy.has(id) && (retries.get(id)?.at ?? 0) <= now),
  };
}

/** Returns the wait before the next reconciliation after consecutive failures, in milliseconds. */
export function retryDelayMs(failures: number): number {
  return Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LAST_RETRY_MS);
}
