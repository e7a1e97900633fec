import { touchRoute } from '../../shared/db/service-lifecycle.js';
import type { Payloads } from '../../shared/queues/catalog.js';
import type { WorkshopDeps } from '../deploy/deps.js';
import { loadReleaseSpec } from '../deploy/release-spec.js';
import { edgesApplied } from '../edges-applied.js';
import type { JobHelpers } from './helpers.js';
import { runOperation } from './run-operation.js';

/** Queue `routing-reconciliation`: the number of replicas and what the edge serves follow the configuration. */
export function routingJob(
  deps: WorkshopDeps,
  { operationId }: Payloads['routing-reconciliation'],
  helpers: JobHelpers,
): Promise<string> {
  return runOperation(deps, operationId, helpers, async ({ service, signal }) => {
    if (service.live_deployment_id && service.lifecycle_status === 'active') {
      const spec = await loadReleaseSpec(deps.db, deps.keyring, service.live_deployment_id);
      if (spec.image.manifest.type === 'process') {
        await deps.runtime.scale(spec, service.configuration.replicas, signal);
      }
    }
    const version = await touchRoute(deps.db, service.id);
    await edgesApplied(deps.db, service.id, version, signal);
    return 'done';
  });
}
