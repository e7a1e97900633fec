import type { Logger } from '../../shared/log.js';

/** What a handler is given besides its payload. */
export interface JobHelpers {
  log: Logger;
  /** Aborts with `Interrupted('shutdown')` when this worker ends. */
  signal: AbortSignal;
  firstAttempt: boolean;
  /** No further try of this job follows. */
  lastAttempt: boolean;
  /** A line in the job's own log, for operators on the dashboard. */
  report(line: string): Promise<void>;
}
