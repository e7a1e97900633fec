import { retireImages } from '../../shared/db/images.js';
import { staleReleases } from '../../shared/db/releases.js';
import { getService } from '../../shared/db/service-lifecycle.js';
import { IMAGES_KEPT } from '../../shared/domain/image.js';
import { edgesApplied } from '../edges-applied.js';
import type { WorkshopDeps } from './deps.js';

/**
 * After a release went live: waits until every edge serves it and has drained the old one, stops what no longer serves,
 * and lets images past retention go. Doing it again is harmless, so that any worker can finish what another began.
 */
export async function retireOldReleases(deps: WorkshopDeps, serviceId: string, signal: AbortSignal): Promise<void> {
  const service = await getService(deps.db, serviceId);
  if (!service) return;
  const stale = await staleReleases(deps.db, serviceId);
  if (stale.length > 0) {
    await edgesApplied(deps.db, serviceId, service.route_version, signal);
    for (const { deploymentId } of stale) await deps.runtime.stop(deploymentId);
  }
  await retireImages(deps.db, serviceId, IMAGES_KEPT);
}
