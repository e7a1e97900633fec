import { findDataServer } from '../../shared/data/store.js';
import { isDataKind } from '../../shared/services/model.js';
import { sweepEach } from '../core/sweep-each.js';
import { loadReleaseSpec } from '../releases/release-spec.js';
import { releasesToStart } from '../releases/release-store.js';
import { hostOfVolumes } from '../volumes/volume-store.js';
import type { JobDeps } from '../worker-deps.js';

const READY_WITHIN_MS = 120_000;

/** How many releases start at the same time. A release that fails to start must not delay the others. */
const AT_ONCE = 8;

/** Starts live releases that have no replicas at all, if this host has their image. Returns a line for each of them. */
export async function reviveReleases(deps: JobDeps): Promise<string[]> {
  const failure = 'a live release does not start';
  const facts = ({ deploymentId }: { deploymentId: string }) => ({ deploymentId });
  return sweepEach(
    await releasesToStart(deps.db),
    { ...deps, atOnce: AT_ONCE, failure, facts },
    async ({ deploymentId }) => {
      const spec = await loadReleaseSpec(deps.db, deps.keyring, deploymentId);
      if (!(await deps.images.has(spec.image))) return [];
      // A service with a volume is started on the host with the volume; other hosts' sweeps skip it.
      if (isDataKind(spec.kind) && !(await hasVolume(deps, spec.serviceId))) return [];
      if (spec.hasVolumes && !(await mayHaveVolumes(deps, spec.serviceId))) return [];
      await deps.runtime.scale(spec, spec.configuration.replicas, AbortSignal.timeout(READY_WITHIN_MS));
      return [`started release ${deploymentId} again`];
    },
  );
}

async function hasVolume({ db, data }: JobDeps, serviceId: string): Promise<boolean> {
  return (await findDataServer(db, serviceId))?.host_id === data.hostId;
}

/** Returns true if the volumes of a service are on this host, or on no host yet. */
async function mayHaveVolumes({ db, data }: JobDeps, serviceId: string): Promise<boolean> {
  const hostId = await hostOfVolumes(db, serviceId);
  return hostId === null || hostId === data.hostId;
}
