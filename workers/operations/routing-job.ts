import type { Payloads } from '../../shared/queues/catalog.js';
import { publishRouteChange } from '../../shared/services/publish-route.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import { getService } from '../../shared/services/store.js';
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
    await followConfiguration(deps, service, signal);
    const version = await publishRouteChange(deps.db, service.id);
    await edgesApplied(deps.db, service.id, version, signal);
    return DONE;
  });
}

/**
 * Brings the live release to the wanted number of replicas. Two operations of a service can run at once, and the one that read the older
 * configuration may write last: so each looks again after it has written.
 */
async function followConfiguration(deps: JobDeps, service: ServiceRow, signal: AbortSignal): Promise<void> {
  let wanted: number | null = null;
  for (let current: ServiceRow | undefined = service; current !== undefined; ) {
    if (current.live_deployment_id === null || current.lifecycle_status !== 'active') return;
    if (wantedReplicas(current) === wanted) return;
    const spec = await loadReleaseSpec(deps.db, deps.keyring, current.live_deployment_id);
    if (spec.image.manifest.type !== 'process') return;
    wanted = wantedReplicas(current);
    await deps.runtime.scale(spec, wanted, signal);
    current = await getService(deps.db, service.id);
  }
}
