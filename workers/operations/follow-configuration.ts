import { getService } from '../../shared/services/store.js';
import { wantedReplicas } from '../../shared/services/wanted-replicas.js';
import { loadReleaseSpec } from '../releases/release-spec.js';
import type { JobDeps } from '../worker-deps.js';

/**
 * Brings the live release to the configured number of replicas. Reads the configuration again after each write, because
 * another operation with an older configuration may write at the same time.
 */
export async function followConfiguration(deps: JobDeps, serviceId: string, signal: AbortSignal): Promise<void> {
  for (let wanted: number | null = null; ; ) {
    const service = await getService(deps.db, serviceId);
    if (!service?.live_deployment_id || service.lifecycle_status !== 'active') return;
    if (wantedReplicas(service) === wanted) return;
    const spec = await loadReleaseSpec(deps.db, deps.keyring, service.live_deployment_id);
    if (spec.image.manifest.type !== 'process') return;
    wanted = wantedReplicas(service);
    await deps.runtime.scale(spec, wanted, signal);
  }
}
