import type { ReplicaRow } from '../replicas/rows.js';

const SWEEP_MS = 60_000;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 60_000;

export interface ObservedHost {
  /** The host's replicas in the database that are not stopped. */
  rows: readonly string[];
  /** Replicas that have a controller. */
  controlled: Iterable<string>;
  /** Replicas that are being reconciled. */
  busy: ReadonlySet<string>;
  /** When to retry a failed reconciliation, in milliseconds since the epoch. */
  retries: ReadonlyMap<string, { at: number }>;
  sweptAt: number;
  sweeping: boolean;
}

/** Decides what a supervisor does in one pass. `now` is in milliseconds since the epoch. */
export function planPass({ rows, controlled, busy, retries, sweptAt, sweeping }: ObservedHost, now: number) {
  const present = new Set(rows);
  return {
    sweep: !sweeping && now - sweptAt > SWEEP_MS,
    drop: [...controlled].filter((id) => !present.has(id) && !busy.has(id)),
    reconcile: rows.filter((id) => !busy.has(id) && (retries.get(id)?.at ?? 0) <= now),
  };
}

/** Polling interval of a host with nothing to do. Notifications wake its supervisor sooner. */
export const SETTLED_POLL_MS = 10_000;

/** Returns true if only a notification or a health check can change something about a replica. */
export function isSettled(
  row: Pick<
    ReplicaRow,
    'state' | 'desired' | 'to_freeze' | 'run_id' | 'replaces' | 'replace_at' | 'failing_since' | 'paused_until'
  >,
): boolean {
  const { state, desired, to_freeze, run_id, replaces, replace_at, failing_since, paused_until } = row;
  const isUnderWay = [run_id, replaces, replace_at, failing_since, paused_until].some((value) => value !== null);
  return state === 'ready' && desired === 'running' && !to_freeze && !isUnderWay;
}

/** Returns the delay after this many failed reconciliations in a row. */
export function retryDelayMs(failures: number): number {
  return Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LAST_RETRY_MS);
}
