import type { Logger } from '../../shared/core/log.js';

/** What the worker pool passes to a handler besides the payload. */
export interface JobHelpers {
  log: Logger;
  /** Aborts with `Interrupted('shutdown')` when this worker shuts down. */
  signal: AbortSignal;
  firstAttempt: boolean;
  /** True if the job is not tried again after this attempt. */
  lastAttempt: boolean;
  /** Writes a line to the job's own log on the dashboard, for operators. It never throws, and no work waits for it. */
  report(line: string): void;
}
