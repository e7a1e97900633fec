import { findCommitEvent } from '../../shared/commits/store.js';
import type { Payloads } from '../../shared/queues/work-catalog.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import type { JobDeps } from '../worker-deps.js';
import { considerEvent } from './consider-event.js';

/** Time limit for reading the repository. After it, the job is retried. */
const TIMEOUT_MS = 5 * 60_000;

/** Decides whether a commit event leads to a deployment. Of several runs, the first decision counts. */
export async function commitJob(
  deps: JobDeps,
  { eventId }: Payloads['commit'],
  { signal, lastAttempt }: Pick<JobHelpers, 'signal' | 'lastAttempt'>,
): Promise<string> {
  const event = await findCommitEvent(deps.db, eventId);
  if (event === undefined || event.finished_at !== null) return 'decided already';
  return considerEvent(deps, event, AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]), lastAttempt);
}
