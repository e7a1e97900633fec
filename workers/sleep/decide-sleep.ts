export interface SleepFacts {
  /** True if the service is asleep and its replicas are frozen, or about to be. */
  frozen: boolean;
  /** False if the service's configuration no longer lets it sleep. */
  maySleep: boolean;
  /** True while the service has an unfinished deployment or operation, or an open shell or tunnel. */
  busy: boolean;
  /**
   * Seconds since the last visitor, or since the last replica became ready if that is later. Null if a replica was
   * never ready.
   */
  quietSeconds: number | null;
  allReady: boolean;
  /** 0 if the service is awake. */
  asleepSeconds: number;
  /** True if the service had a visitor since it fell asleep. */
  visited: boolean;
}

export interface SleepTimes {
  /** Seconds without a visitor after which a service falls asleep. */
  quiet: number;
  /** Seconds for which replicas stay frozen before they are stopped; 0 to stop them at once. */
  frozen: number;
}

/** `end` stops the replicas. */
export type SleepAction = 'freeze' | 'end' | 'thaw';

/** Decides what happens to a service that may sleep; null for nothing. */
export function decideSleep(facts: SleepFacts, times: SleepTimes): SleepAction | null {
  if (facts.frozen) {
    // A visitor may have arrived while the replicas were being frozen, for example with a WebSocket.
    if (!facts.maySleep || facts.visited) return 'thaw';
    return !facts.busy && facts.asleepSeconds >= times.frozen ? 'end' : null;
  }
  if (!facts.maySleep || facts.busy || facts.quietSeconds === null || facts.quietSeconds < times.quiet) return null;
  return times.frozen > 0 && facts.allReady ? 'freeze' : 'end';
}

/** Returns the line in the service's log about an action. */
export function sleepMessage(action: SleepAction, { frozen }: Pick<SleepFacts, 'frozen'>, times: SleepTimes): string {
  if (action === 'thaw') return 'Runs again, because it had a visitor or may sleep no more';
  if (action === 'freeze') {
    return `Falls asleep after ${times.quiet} s without a visitor: frozen for ${times.frozen} s, then ended; the next request wakes it`;
  }
  return frozen
    ? `Ends after it was frozen for ${times.frozen} s; the next request starts it again`
    : `Falls asleep after ${times.quiet} s without a visitor; the next request wakes it`;
}
