import { IMAGES_KEPT } from '../../shared/images/model.js';
import { retireImages } from '../../shared/images/store.js';
import { getService } from '../../shared/services/store.js';
import { edgesApplied } from '../releases/edges-applied.js';
import { type LeftBehind, leftBehind } from '../releases/release-store.js';
import type { JobDeps } from '../worker-deps.js';

/** Retires the releases and images that a new live release replaced. Idempotent. */
export async function retireOldReleases(
  deps: JobDeps,
  serviceId: string,
  signal: AbortSignal,
  left: LeftBehind | null = null,
): Promise<void> {
  const { stale, images } = left ?? (await leftBehind(deps.db, serviceId));
  if (stale.length > 0) {
    const service = await getService(deps.db, serviceId);
    if (!service) return;
    await edgesApplied(deps.db, serviceId, service.route_version, signal);
    for (const deploymentId of stale) await deps.runtime.stop(deploymentId);
  }
  if (images > IMAGES_KEPT) await retireImages(deps.db, serviceId, IMAGES_KEPT);
}
