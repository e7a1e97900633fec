import type { Logger } from '../../shared/core/log.js';

/** What the worker pool passes to a handler besides the payload. */
export interface JobHelpers {
  log: Logger;
  /** Aborts with `Interrupted('shutdown')` when this worker shuts down. */
  signal: AbortSignal;
  firstAttempt: boolean;
  /** True if the queue does not try the job again after this attempt. */
  lastAttempt: boolean;
  /** Writes a line to the job's own log on the dashboard, for operators. Never throws, and no work waits for it. */
  report(line: string): void;
}
