import type { Payloads, QueueName } from '../../shared/queues/catalog.js';
import type { WorkshopDeps } from '../deploy/deps.js';
import { deletionJob } from './deletion.js';
import { deployJob } from './deploy.js';
import type { JobHelpers } from './helpers.js';
import { logIngestJob } from './log-ingest.js';
import { routingJob } from './routing.js';
import { runtimeActionJob } from './runtime-action.js';

/** A handler does one job and returns a word about its outcome, which the dashboard shows. */
export type JobHandler<N extends QueueName> = (
  deps: WorkshopDeps,
  payload: Payloads[N],
  helpers: JobHelpers,
) => Promise<string>;

/** Every queue of the catalog with its handler; one that is missing does not compile. */
export const HANDLERS: { [N in QueueName]: JobHandler<N> } = {
  deploy: deployJob,
  'runtime-action': runtimeActionJob,
  deletion: deletionJob,
  'routing-reconciliation': routingJob,
  'log-ingest': logIngestJob,
};
