import { ABANDONED, type ReplicaRow } from '../../replicas/rows.js';

export type ProcessAction =
  | 'start'
  /** Kills what a dead worker started, and returns the replica to `pending`. */
  | 'abandonAttempt'
  /** Stores all output in the log, then records that the process has exited. */
  | 'recordEnd'
  | 'followOutput'
  | 'checkHealth'
  | 'freeze'
  | 'thaw'
  /** Waits, up to a timeout, until no edge sends requests to the replica. */
  | 'drain'
  /** Sends SIGTERM, then SIGKILL after the grace period, and removes the sandbox. */
  | 'stop';

export interface ObservedProcess {
  row: Pick<ReplicaRow, 'desired' | 'state' | 'pid' | 'next_start_at' | 'run_id' | 'paused_until' | 'to_freeze'>;
  alive: boolean;
  /** True if this worker keeps the processes frozen. They run again when this worker ends. */
  frozen: boolean;
}

/** Returns the actions on a replica, in order. `now` is in milliseconds since the epoch. */
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
      // The attempt of a run never becomes ready. A paused process cannot respond to a check.
      if (row.run_id !== null || paused) return ['followOutput'];
      // `drain` waits until all edges have the newest route, and so send no more requests to the replica.
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

/** How long a replica that is not ready may exceed its plan's CPU limit. */
const STARTING_MS = 30_000;

/** Returns true once the plan's CPU limit applies. A starting replica may use more, so that it is ready sooner. */
export function isCpuLimited({ state, started_at }: Pick<ReplicaRow, 'state' | 'started_at'>, now: number): boolean {
  return state !== 'starting' || started_at === null || now - started_at.getTime() > STARTING_MS;
}

/** Returns how many cores a replica may use while it starts. */
export function startingCpu(cpu: number, cores: number): number {
  return Math.max(cpu, Math.min(cores, 2));
}

/** A replica that has lost its port more than this many times is restarted after a back-off, like a crashed replica. */
const PORT_LOSSES_FORGIVEN = 3;

export type PortLossAction =
  | 'kill'
  | 'finishOutput'
  /** The replica gets another port. */
  | 'startAgain'
  | 'recordExit'
  | 'recordExitAtOnce';

/** Returns the actions when another process has taken a replica's port. `losses` includes this time. */
export function decidePortLoss(wasReady: boolean, losses: number): PortLossAction[] {
  const forgiven = losses <= PORT_LOSSES_FORGIVEN;
  if (!wasReady) return ['kill', 'finishOutput', forgiven ? 'startAgain' : 'recordExit'];
  // The exit is recorded first, because this changes the route. Visitors must not wait until the process has exited.
  return [forgiven ? 'recordExitAtOnce' : 'recordExit', 'kill'];
}
