import { hasOpenDeployment } from '../../shared/deployments/store.js';
import { eraseService } from '../../shared/lifecycle/store.js';
import { findOpenOperation } from '../../shared/operations/store.js';
import type { Payloads } from '../../shared/queues/work-catalog.js';
import { countOpenRuns } from '../../shared/runs/store.js';
import { removeBackupsOfDeleted } from '../backups/remove-backups.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import { edgesApplied } from '../releases/edges-applied.js';
import { runningReleases } from '../releases/release-store.js';
import { removeDeletedVolumes } from '../volumes/service-volumes.js';
import type { JobDeps } from '../worker-deps.js';
import { DONE, runOperation } from './run-operation.js';

const POLL_INTERVAL_MS = 500;

/** Stops a deleted service's replicas, and erases its records, volumes and backups. */
export function deletionJob(
  deps: JobDeps,
  { operationId }: Payloads['deletion'],
  helpers: JobHelpers,
): Promise<string> {
  return runOperation(deps, operationId, helpers, async ({ service, signal }) => {
    // Deployments and runs were cancelled, and a restore ends by itself. A later job checks again, so that this job
    // does not keep a worker busy.
    const busy =
      (await hasOpenDeployment(deps.db, service.id)) ||
      (await countOpenRuns(deps.db, service.id, 'all')) > 0 ||
      (await findOpenOperation(deps.db, service.id, ['restore'])) !== null;
    if (busy) {
      return { laterInMs: POLL_INTERVAL_MS, says: 'later' };
    }
    await edgesApplied(deps.db, service.id, service.route_version, signal);
    for (const deploymentId of await runningReleases(deps.db, service.id)) await deps.runtime.stop(deploymentId);
    await deps.db.transaction((trx) => eraseService(trx, service.id));
    // A volume on another host is removed by that host's next sweep.
    await deps.data.removeVolumes();
    await removeDeletedVolumes(deps, deps.data.hostId);
    await removeBackupsOfDeleted(deps);
    return DONE;
  });
}
