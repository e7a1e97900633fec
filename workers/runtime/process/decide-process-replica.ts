import { ABANDONED, type ReplicaRow } from '../../replicas/rows.js';

/** An action of a controller on a replica that runs as a process. */
export type ProcessAction =
  /** Claims a port and starts a process for a new attempt. */
  | 'start'
  /** Ends what a worker started before it died, and returns the replica to `pending`. */
  | 'abandonAttempt'
  /** Records how the process ended, once all its output is in the log. */
  | 'recordEnd'
  | 'followOutput'
  | 'checkHealth'
  /** Waits, within a bound, until no edge sends requests to the replica. */
  | 'drain'
  /**
   * Sends TERM and, after the grace period, KILL; then removes what is left and records that the replica is stopped.
   */
  | 'stop';

export interface ObservedProcess {
  row: Pick<ReplicaRow, 'desired' | 'state' | 'pid' | 'next_start_at' | 'run_id' | 'paused_until'>;
  alive: boolean;
}

/** Decides what a controller does to a replica, in this order. `now` is in milliseconds since the epoch. */
export function decideProcessReplica({ row, alive }: ObservedProcess, now: number): ProcessAction[] {
  if (row.desired === 'stopped') return row.state === 'ready' ? ['drain', 'stop'] : ['stop'];
  switch (row.state) {
    case 'pending':
      return ['start'];
    case 'exited':
      return row.next_start_at !== null && row.next_start_at.getTime() <= now ? ['start'] : [];
    case 'starting':
    case 'ready':
    case 'unhealthy':
      if (row.pid === null || row.pid === ABANDONED) return ['abandonAttempt'];
      if (!alive) return ['recordEnd'];
      // The attempt of a run is never ready: it ends by itself. A paused process answers nothing.
      return row.run_id === null && (row.paused_until === null || row.paused_until.getTime() <= now)
        ? ['followOutput', 'checkHealth']
        : ['followOutput'];
    case 'stopped':
      return [];
  }
}

/** How long a replica that is not ready may use more processor time than its plan allows, in milliseconds. */
const STARTING_MS = 30_000;

/**
 * Returns true once the plan's processor limit applies. A starting replica may use more, so that it is ready sooner.
 */
export function isCpuLimited({ state, started_at }: Pick<ReplicaRow, 'state' | 'started_at'>, now: number): boolean {
  return state !== 'starting' || started_at === null || now - started_at.getTime() > STARTING_MS;
}

/** Returns the cores that a replica may use while it starts. */
export function startingCpu(cpu: number, cores: number): number {
  return Math.max(cpu, Math.min(cores, 2));
}

/** So many times a replica that loses its port restarts at once; after that, it waits as one that crashed does. */
const PORT_LOSSES_FORGIVEN = 3;

/** An action, in this order, on a replica whose port another process of the host listens on. */
export type PortLossAction =
  | { type: 'kill' }
  | { type: 'finishOutput' }
  /** Returns the replica to `pending`: it starts again with another port. */
  | { type: 'startAgain' }
  /** Records the end. `delayMs` replaces the usual back-off. */
  | { type: 'recordExit'; delayMs?: number };

/** Decides what to do when another process has a replica's port. `losses` counts how often, this time included. */
export function decidePortLoss(wasReady: boolean, losses: number): PortLossAction[] {
  const forgiven = losses <= PORT_LOSSES_FORGIVEN;
  if (!wasReady) {
    return [{ type: 'kill' }, { type: 'finishOutput' }, { type: forgiven ? 'startAgain' : 'recordExit' }];
  }
  // Record first: this changes the route, and visitors must not wait for the process to end.
  return [{ type: 'recordExit', ...(forgiven ? { delayMs: 0 } : {}) }, { type: 'kill' }];
}
