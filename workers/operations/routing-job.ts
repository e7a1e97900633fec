import type { Payloads } from '../../shared/queues/catalog.js';
import { publishRouteChange } from '../../shared/services/publish-route.js';
import { wantedReplicas } from '../../shared/services/wanted-replicas.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import { edgesApplied } from '../releases/edges-applied.js';
import { loadReleaseSpec } from '../releases/release-spec.js';
import type { JobDeps } from '../worker-deps.js';
import { DONE, runOperation } from './run-operation.js';

/** Queue `routing-reconciliation`: makes the number of replicas and the edges' routes follow the configuration. */
export function routingJob(
  deps: JobDeps,
  { operationId }: Payloads['routing-reconciliation'],
  helpers: JobHelpers,
): Promise<string> {
  return runOperation(deps, operationId, helpers, async ({ service, signal }) => {
    if (service.live_deployment_id && service.lifecycle_status === 'active') {
      const spec = await loadReleaseSpec(deps.db, deps.keyring, service.live_deployment_id);
      if (spec.image.manifest.type === 'process') {
        await deps.runtime.scale(spec, wantedReplicas(service), signal);
      }
    }
    const version = await publishRouteChange(deps.db, service.id);
    await edgesApplied(deps.db, service.id, version, signal);
    return DONE;
  });
}
