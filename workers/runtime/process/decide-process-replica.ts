import { ABANDONED, type ReplicaRow } from '../../replicas/rows.js';

/** A controller's action on a replica that runs as a process. */
export type ProcessAction =
  /** Claims a port and starts a process for a new attempt. */
  | 'start'
  /** Kills what a worker started before it died, and returns the replica to `pending`. */
  | 'abandonAttempt'
  /** Records how the process ended, after all its output is stored in the log. */
  | 'recordEnd'
  | 'followOutput'
  | 'checkHealth'
  /** Freezes the processes, because the service sleeps. */
  | 'freeze'
  /** Lets frozen processes run again. */
  | 'thaw'
  /** Waits, up to a timeout, until no edge sends requests to the replica. */
  | 'drain'
  /**
   * Sends SIGTERM, then SIGKILL after the grace period; removes the sandbox and records that the replica is stopped.
   */
  | 'stop';

export interface ObservedProcess {
  row: Pick<ReplicaRow, 'desired' | 'state' | 'pid' | 'next_start_at' | 'run_id' | 'paused_until' | 'to_freeze'>;
  alive: boolean;
  /**
   * True if this worker keeps the processes frozen. When a worker ends, the processes that it kept frozen run again.
   */
  frozen: boolean;
}

/** Returns the actions that a controller applies to a replica, in order. `now` is in milliseconds since the epoch. */
export function decideProcessReplica({ row, alive, frozen }: ObservedProcess, now: number): ProcessAction[] {
  const paused = row.paused_until !== null && row.paused_until.getTime() > now;
  if (row.desired === 'stopped') {
    if (row.state === 'frozen') return ['thaw', 'stop'];
    return row.state === 'ready' ? ['drain', 'stop'] : ['stop'];
  }
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
      // The attempt of a run never becomes ready: it ends by itself. A paused process cannot respond to a check.
      if (row.run_id !== null || paused) return ['followOutput'];
      // Edges that have the newest route send no more requests. Wait until all edges have it.
      if (row.to_freeze && row.state === 'ready') return ['followOutput', 'drain', 'freeze'];
      return ['followOutput', 'checkHealth'];
    case 'frozen':
      if (!alive) return ['thaw', 'recordEnd'];
      if (row.to_freeze) return frozen || paused ? [] : ['freeze'];
      return paused ? [] : ['thaw'];
    case 'stopped':
      return [];
  }
}

/** How long a replica that is not ready may use more CPU than its plan allows, in milliseconds. */
const STARTING_MS = 30_000;

/** Returns true once the plan's CPU limit applies. A starting replica may use more, so that it is ready sooner. */
export function isCpuLimited({ state, started_at }: Pick<ReplicaRow, 'state' | 'started_at'>, now: number): boolean {
  return state !== 'starting' || started_at === null || now - started_at.getTime() > STARTING_MS;
}

/** Returns how many cores a replica may use while it starts. */
export function startingCpu(cpu: number, cores: number): number {
  return Math.max(cpu, Math.min(cores, 2));
}

/**
 * Number of times that a replica is restarted without delay after it lost its port to another process. After that, it
 * is restarted after a back-off, like a crashed replica.
 */
const PORT_LOSSES_FORGIVEN = 3;

/** An action on a replica that lost its port to another process of the host. */
export type PortLossAction =
  | 'kill'
  | 'finishOutput'
  /** Returns the replica to `pending`: it starts again with another port. */
  | 'startAgain'
  | 'recordExit'
  /** Records the exit without the usual back-off. */
  | 'recordExitAtOnce';

/**
 * Decides what to do when another process has taken a replica's port. Returns the actions in the order in which to
 * apply them. `losses` is the number of times that this has happened to the replica, including this time.
 */
export function decidePortLoss(wasReady: boolean, losses: number): PortLossAction[] {
  const forgiven = losses <= PORT_LOSSES_FORGIVEN;
  if (!wasReady) return ['kill', 'finishOutput', forgiven ? 'startAgain' : 'recordExit'];
  // Record first, because this changes the route: visitors must not wait until the process has exited.
  return [forgiven ? 'recordExitAtOnce' : 'recordExit', 'kill'];
}
