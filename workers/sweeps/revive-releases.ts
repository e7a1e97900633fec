import { errorMessage } from '../../shared/core/errors.js';
import { findDataServer } from '../../shared/data/store.js';
import { releasesWithoutReplicas } from '../../shared/deployments/release-store.js';
import { isDataKind } from '../../shared/services/model.js';
import { loadReleaseSpec } from '../deploy/release-spec.js';
import type { JobDeps } from '../worker-deps.js';

/** How long the sweep waits for the replicas of one release to become ready, in milliseconds. */
const READY_WITHIN_MS = 120_000;

/** Starts live releases that have no replica at all, if this host has their image. Returns a line for each of them. */
export async function reviveReleases(deps: JobDeps): Promise<string[]> {
  const started: string[] = [];
  for (const { deploymentId } of await releasesWithoutReplicas(deps.db)) {
    const spec = await loadReleaseSpec(deps.db, deps.keyring, deploymentId);
    if (!(await deps.images.has(spec.image))) continue;
    // A database is started on the host that has its volume; another host's sweep leaves it alone.
    if (isDataKind(spec.kind) && !(await hasVolume(deps, spec.serviceId))) continue;
    try {
      await deps.runtime.scale(spec, spec.configuration.replicas, AbortSignal.timeout(READY_WITHIN_MS));
      started.push(`started release ${deploymentId} again`);
    } catch (error) {
      deps.log.warn({ deploymentId }, `a live release does not start: ${errorMessage(error)}`);
    }
  }
  return started;
}

async function hasVolume({ db, data }: JobDeps, serviceId: string): Promise<boolean> {
  return (await findDataServer(db, serviceId))?.host_id === data.hostId;
}
