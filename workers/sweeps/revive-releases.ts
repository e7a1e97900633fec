import { releasesWithoutReplicas } from '../../shared/db/releases.js';
import { errorMessage } from '../../shared/errors.js';
import type { WorkshopDeps } from '../deploy/deps.js';
import { loadReleaseSpec } from '../deploy/release-spec.js';

const PATIENCE_MS = 120_000;

/** Starts live releases that have no replica at all, where this host has their image. Returns what it mended. */
export async function reviveReleases(deps: WorkshopDeps): Promise<string[]> {
  const mended: string[] = [];
  for (const { deploymentId } of await releasesWithoutReplicas(deps.db)) {
    const spec = await loadReleaseSpec(deps.db, deps.keyring, deploymentId);
    if (!(await deps.images.has(spec.image))) continue;
    try {
      await deps.runtime.scale(spec, spec.configuration.replicas, AbortSignal.timeout(PATIENCE_MS));
      mended.push(`started release ${deploymentId} again`);
    } catch (error) {
      deps.log.warn({ deploymentId }, `a live release does not start: ${errorMessage(error)}`);
    }
  }
  return mended;
}
