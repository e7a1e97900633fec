import type { Logger } from '../../shared/core/log.js';

/** What the worker pool passes to a handler besides the payload. */
export interface JobHelpers {
  log: Logger;
  /** Aborts with `Interrupted('shutdown')` when this worker shuts down. */
  signal: AbortSignal;
  firstAttempt: boolean;
  lastAttempt: boolean;
  /** Adds a line to the job's log on the dashboard, for operators. Never throws. */
  report(line: string): void;
}
