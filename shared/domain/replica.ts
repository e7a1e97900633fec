/**
 * A replica is one running copy of a release. `desired` is what the platform wants; `state` is what its host has seen:
 * pending → starting → ready ⇄ unhealthy, exited (waits to be started again, or failed before it was ever ready), stopped.
 */
export const REPLICA_STATES = ['pending', 'starting', 'ready', 'unhealthy', 'exited', 'stopped'] as const;
export type ReplicaState = (typeof REPLICA_STATES)[number];
export type ReplicaDesire = 'running' | 'stopped';

/** The wait before a replica that died is started again: 1 s, 2 s, 4 s … 60 s; in milliseconds. */
export function restartDelayMs(restarts: number): number {
  return Math.min(60_000, 1000 * 2 ** Math.min(restarts, 16));
}
