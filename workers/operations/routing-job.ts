import type { Payloads } from '../../shared/queues/work-catalog.js';
import { publishRouteChange } from '../../shared/services/publish-route.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import { edgesApplied } from '../releases/edges-applied.js';
import type { JobDeps } from '../worker-deps.js';
import { followConfiguration } from './follow-configuration.js';
import { DONE, runOperation } from './run-operation.js';

/** Makes replicas and routes follow the configuration. */
export function routingJob(
  deps: JobDeps,
  { operationId }: Payloads['routing-reconciliation'],
  helpers: JobHelpers,
): Promise<string> {
  return runOperation(deps, operationId, helpers, async ({ service, signal }) => {
    await followConfiguration(deps, service.id, signal);
    const version = await publishRouteChange(deps.db, service.id);
    await edgesApplied(deps.db, service.id, version, signal);
    return DONE;
  });
}
