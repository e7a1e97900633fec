import type { Payloads } from '../../shared/queues/catalog.js';
import { perform } from '../engine/perform.js';
import { runHandler } from '../runs/perform-run.js';
import type { JobDeps } from '../worker-deps.js';
import type { JobHelpers } from './job-helpers.js';

/** Queue `run`: carries out one run of a cron service, or goes on with one whose worker died. */
export function runJob(deps: JobDeps, { runId }: Payloads['run'], helpers: JobHelpers): Promise<string> {
  return perform(deps, runHandler(deps), runId, helpers).finally(() => deps.dispatcher.wake());
}
