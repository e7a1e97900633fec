/** Facts about a web service that has replicas and may sleep, or whose replicas are frozen. */
export interface SleepFacts {
  /** True if its replicas are to be frozen. */
  frozen: boolean;
  /** False if its configuration no longer lets it sleep. */
  maySleep: boolean;
  /** True while a deployment, an operation, a shell or a tunnel is open. */
  busy: boolean;
  /** Seconds since its last visitor, or since its newest replica was ready; null if one was never ready. */
  quietSeconds: number | null;
  /** True if every replica passes its health check. */
  allReady: boolean;
  /** Seconds since it fell asleep. */
  asleepSeconds: number;
  /** True if it had a visitor since it fell asleep. */
  visited: boolean;
}

/** Times in seconds. */
export interface SleepTimes {
  /** The time without a visitor after which a service falls asleep. */
  quiet: number;
  /** How long its replicas are frozen before they are stopped, in seconds; 0 if they are stopped at once. */
  frozen: number;
}

/** `freeze`: freezes the replicas. `end`: stops them. `thaw`: lets frozen replicas run again. */
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
