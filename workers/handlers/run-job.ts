import { errorMessage } from '../../shared/core/errors.js';
import type { Payloads } from '../../shared/queues/catalog.js';
import { RUNS } from '../../shared/runs/kind.js';
import { claimRun } from '../../shared/runs/store.js';
import { performRun } from '../runs/perform-run.js';
import type { JobDeps } from '../worker-deps.js';
import type { JobHelpers } from './job-helpers.js';

/** Queue `run`: carries out one run of a cron service, or goes on with one whose worker died. */
export async function runJob(deps: JobDeps, { runId }: Payloads['run'], helpers: JobHelpers): Promise<string> {
  const run = await claimRun(deps.db, runId, deps.workerId);
  if (!run) return 'nothing to do';
  const lease = deps.leases.hold(RUNS, { id: run.id, fence: run.fence });
  try {
    return await performRun(deps, run, AbortSignal.any([lease.signal, helpers.signal]), helpers);
  } catch (error) {
    helpers.log.debug({ runId, fence: run.fence }, `the run is left: ${errorMessage(error)}`);
    throw error;
  } finally {
    lease.stop();
    deps.dispatcher.wake();
  }
}
