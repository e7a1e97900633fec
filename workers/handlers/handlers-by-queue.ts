import type { Payloads, QueueName } from '../../shared/queues/catalog.js';
import type { JobDeps } from '../worker-deps.js';
import { backupJob } from './backup-job.js';
import { commitJob } from './commit-job.js';
import { deletionJob } from './deletion-job.js';
import { deployJob } from './deploy-job.js';
import { detectionJob } from './detection-job.js';
import type { JobHelpers } from './job-helpers.js';
import { logIngestJob } from './log-ingest-job.js';
import { restoreJob } from './restore-job.js';
import { routingJob } from './routing-job.js';
import { runJob } from './run-job.js';
import { runtimeActionJob } from './runtime-action-job.js';

/** Runs one job. Returns the outcome in a few words, which the dashboard shows. */
export type JobHandler<N extends QueueName> = (
  deps: JobDeps,
  payload: Payloads[N],
  helpers: JobHelpers,
) => Promise<string>;

/** The handler of every queue in the catalog. A queue without a handler does not compile. */
export const HANDLERS: { [N in QueueName]: JobHandler<N> } = {
  deploy: deployJob,
  'runtime-action': runtimeActionJob,
  deletion: deletionJob,
  'routing-reconciliation': routingJob,
  run: runJob,
  backup: backupJob,
  restore: restoreJob,
  'log-ingest': logIngestJob,
  detection: detectionJob,
  commit: commitJob,
};
