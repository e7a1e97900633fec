import type { HealthStatus } from '../../shared/services/model.js';

/**
 * A replica is one running copy of a release. `desired` is the state that the platform requests; `state` is what the
 * replica's host has observed: pending → starting → ready ⇄ unhealthy, ready ⇄ frozen, exited (waits for its next
 * start, or failed before it was ever ready), stopped.
 */
export const REPLICA_STATES = ['pending', 'starting', 'ready', 'unhealthy', 'frozen', 'exited', 'stopped'] as const;
export type ReplicaState = (typeof REPLICA_STATES)[number];
export type ReplicaDesire = 'running' | 'stopped';

/** Returns the delay before an exited replica is restarted, in milliseconds: 1 s, 2 s, 4 s … 60 s. */
export function restartDelayMs(restarts: number): number {
  return Math.min(60_000, 1000 * 2 ** Math.min(restarts, 16));
}

export interface ReplicaFacts {
  generation: number;
  position: number;
  desired: ReplicaDesire;
  state: ReplicaState;
  ready_at: Date | null;
  exit_detail: string;
  health_answer: string;
  next_start_at: Date | null;
  replaces: string | null;
}

/** Returns `service.healthStatus` and `service.runtimeDetail` for a release with these replicas. */
export function describeRuntime(
  replicas: readonly ReplicaFacts[],
  now: Date,
): { health: HealthStatus; detail: string } {
  // A replacement counts only after it has replaced the failing replica.
  const running = replicas.filter(
    ({ desired, state, replaces }) => desired === 'running' && state !== 'stopped' && replaces === null,
  );
  if (running.length === 0) return { health: 'unknown', detail: 'no replica runs' };
  // While a new generation starts, only the replicas of the generation that gets requests count.
  const proven = running.filter((replica) => replica.ready_at !== null);
  const generation = Math.min(...(proven.length > 0 ? proven : running).map((replica) => replica.generation));
  const counted = running.filter((replica) => replica.generation === generation);
  if (counted.every((replica) => replica.state === 'frozen')) {
    return { health: 'unknown', detail: 'frozen until the next request' };
  }
  const ready = counted.filter((replica) => replica.state === 'ready').length;
  const broken = counted.filter((replica) => replica.state === 'unhealthy' || replica.state === 'exited');
  const summary = `${ready} of ${counted.length} replicas ready`;
  const failing = counted.filter((replica) => replica.state === 'unhealthy').length;
  const all = failing > 1 && failing === counted.length ? ['every replica fails its health check'] : [];
  return {
    health: broken.length > 0 ? 'unhealthy' : ready > 0 ? 'ready' : 'starting',
    detail: [summary, ...all, ...broken.map((replica) => troubleOf(replica, now))].join('; '),
  };
}

function troubleOf(replica: ReplicaFacts, now: Date): string {
  const name = `replica ${replica.position}`;
  if (replica.state === 'unhealthy') {
    const answer = replica.health_answer === '' ? '' : ` (${replica.health_answer})`;
    return `${name} does not pass its health check${answer}`;
  }
  if (replica.next_start_at === null) return `${name} ${replica.exit_detail}`;
  const seconds = Math.max(0, Math.ceil((replica.next_start_at.getTime() - now.getTime()) / 1000));
  return `${name} ${replica.exit_detail}, starts again in ${seconds} s`;
}
