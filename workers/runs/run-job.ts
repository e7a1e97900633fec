import type { Payloads } from '../../shared/queues/work-catalog.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import { perform } from '../engine/perform-record.js';
import type { JobDeps } from '../worker-deps.js';
import { runHandler } from './perform-run.js';

/** Handles the queue `run`: performs one run, or continues one whose worker died. */
export function runJob(deps: JobDeps, { runId }: Payloads['run'], helpers: JobHelpers): Promise<string> {
  return perform(deps, runHandler(deps), runId, helpers).finally(() => deps.dispatcher.wake());
}
