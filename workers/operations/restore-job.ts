import { getBackup } from '../../shared/backups/store.js';
import { hasOpenDeployment } from '../../shared/deployments/store.js';
import { operationStatus } from '../../shared/operations/store.js';
import type { Payloads } from '../../shared/queues/work-catalog.js';
import { isDataKind } from '../../shared/services/model.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import { listVolumes } from '../../shared/volumes/store.js';
import { hostOfSource } from '../backups/open-source.js';
import { performRestore } from '../backups/perform-restore.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import { BackupError } from '../failures/explained-errors.js';
import type { JobDeps } from '../worker-deps.js';
import { DONE, runOperation } from './run-operation.js';

/** A restore that this worker cannot perform now is tried again after this time, by any worker. */
const ELSEWHERE_MS = 1_000;
/** Time since the request after which a restore stops waiting for the host with the volume or the archive. */
const MAX_WAIT_MS = 60 * 60_000;

/** Restores a service's database or volumes from one of its backups. */
export async function restoreJob(
  deps: JobDeps,
  { operationId }: Payloads['restore'],
  helpers: JobHelpers,
): Promise<string> {
  let restored: ServiceRow | null = null;
  const outcome = await runOperation(deps, operationId, helpers, async (run) => {
    const { operation, service } = run;
    if (await hasOpenDeployment(deps.db, service.id))
      return { laterInMs: ELSEWHERE_MS, says: 'waits for a deployment' };
    if (service.live_deployment_id === null && isDataKind(service.kind)) {
      throw new BackupError('the database does not run; deploy it, then restore the backup again');
    }
    const host = await hostOfSource(deps, service);
    // Volumes that no release has mounted yet can be created on any host.
    const isElsewhere = host !== deps.data.hostId && (host !== null || isDataKind(service.kind));
    if (isElsewhere || !(await reachesArchive(deps, operation.backup_id))) {
      if (Date.now() - operation.created_at.getTime() > MAX_WAIT_MS) {
        throw new BackupError('the host that has the volume, or the archive, is away');
      }
      return { laterInMs: ELSEWHERE_MS, says: 'later' };
    }
    await performRestore(deps, run);
    restored = service;
    return DONE;
  });
  // The operation has ended, so the replaced data may now be removed.
  if (restored !== null) {
    for (const id of await volumesOf(deps, restored)) {
      await deps.data.removeRestoreLeftovers((operation) => operationStatus(deps.db, operation), id);
    }
  }
  return outcome;
}

/** A database's volume has the id of its service. */
async function volumesOf({ db }: JobDeps, { id, kind }: ServiceRow): Promise<string[]> {
  return isDataKind(kind) ? [id] : (await listVolumes(db, id)).map((volume) => volume.id);
}

/** Returns false if the archive is in a folder of another host, whose worker then performs the restore. */
async function reachesArchive({ db, backups }: JobDeps, backupId: string | null): Promise<boolean> {
  const store = backupId === null ? null : ((await getBackup(db, backupId))?.store ?? null);
  return store === null || backups.stores.all.some(({ id }) => id === store);
}
