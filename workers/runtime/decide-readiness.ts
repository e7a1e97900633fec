import type { ReplicaState } from '../replicas/model.js';

const INTERVAL_MS = {
  /** The interval is a sixth of the time since the start, but at least 5 ms and at most 250 ms. */
  starting: { share: 1 / 6, least: 5, most: 250 },
  /** The interval after the first passed check of a new replica. */
  proving: 50,
  failing: 1_000,
  ready: 5_000,
};
/** How long a replica without a port must run before it is ready. */
const SETTLED_MS = 1_000;
/** Consecutive checks that a new replica with a port must pass before it gets requests. */
const PASSES_TO_START = 2;
/** Consecutive checks that an unhealthy replica must pass before it gets requests again. */
const PASSES_TO_RECOVER = 1;
/** Consecutive checks that a ready replica must fail before it gets no more requests. */
const FAILURES_TO_LEAVE = 2;
/** No decision depends on older checks. */
export const CHECKS_KEPT = Math.max(PASSES_TO_START, PASSES_TO_RECOVER, FAILURES_TO_LEAVE);

export interface CheckedReplica {
  state: ReplicaState;
  /** Null if the application listens on no port. */
  port: number | null;
  /** The results of the last checks, oldest first. True means that the check passed. */
  checks: readonly boolean[];
  upMs: number;
}

export interface Readiness {
  /** `same`: the check does not change the state. */
  verdict: 'ready' | 'unhealthy' | 'same';
  nextCheckMs: number;
}

/** Decides whether a replica gets requests, and when to check it again. */
export function decideReadiness({ state, port, checks, upMs }: CheckedReplica): Readiness {
  const passes = inARow(checks, true);
  const failures = inARow(checks, false);
  if (state === 'ready') {
    const verdict = failures >= FAILURES_TO_LEAVE ? 'unhealthy' : 'same';
    return { verdict, nextCheckMs: failures > 0 ? INTERVAL_MS.failing : INTERVAL_MS.ready };
  }
  const isNew = state === 'starting';
  if (passes >= (isNew && port !== null ? PASSES_TO_START : PASSES_TO_RECOVER)) {
    return { verdict: 'ready', nextCheckMs: INTERVAL_MS.ready };
  }
  if (!isNew) return { verdict: 'same', nextCheckMs: INTERVAL_MS.failing };
  return { verdict: 'same', nextCheckMs: passes > 0 ? INTERVAL_MS.proving : startingInterval(upMs) };
}

/** Checks of ready replicas are due at multiples of this time, so that one pass of the supervisor starts many. */
const TOGETHER_MS = 500;

/** Returns when the next check is due, in milliseconds since the epoch. */
export function checkTime(now: number, nextCheckMs: number): number {
  const at = now + nextCheckMs;
  return nextCheckMs < INTERVAL_MS.ready ? at : at - (at % TOGETHER_MS);
}

function startingInterval(upMs: number): number {
  const { share, least, most } = INTERVAL_MS.starting;
  return Math.min(most, Math.max(least, Math.round(upMs * share)));
}

/** Returns true if a replica that listens on no port has run long enough to be ready. */
export function hasSettled(startedAt: number, now: number, settledMs = SETTLED_MS): boolean {
  return now - startedAt >= settledMs;
}

/** Returns true if the HTTP status is 2xx or 3xx. */
export function isHealthyStatus(status: number): boolean {
  return status >= 200 && status < 400;
}

function inARow(checks: readonly boolean[], result: boolean): number {
  return checks.length - 1 - checks.lastIndexOf(!result);
}
