import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '../../shared/db/client.js';
import { waitingEdges } from '../../shared/db/edge.js';
import { retireImages } from '../../shared/db/images.js';
import { staleReleases } from '../../shared/db/releases.js';
import { getService } from '../../shared/db/service-lifecycle.js';
import { IMAGES_KEPT } from '../../shared/domain/image.js';
import type { WorkshopDeps } from './deps.js';

/** The longest an edge is waited for, to apply a route and to let the requests it had sent to the old release end. */
const EDGE_MS = 30_000;
const LOOK_MS = 20;

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

/**
 * Waits, within bounds, until every edge that lives has applied the version and drained what it replaced. Rejects with the
 * reason of a signal, where one is given.
 */
export async function edgesApplied(
  db: Db,
  serviceId: string,
  version: number,
  signal: AbortSignal | null,
  withinMs = EDGE_MS,
): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (Date.now() < deadline && (await waitingEdges(db, serviceId, version)) > 0) {
    signal?.throwIfAborted();
    await delay(LOOK_MS);
  }
}
