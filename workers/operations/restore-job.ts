import { getBackup } from '../../shared/backups/store.js';
import { findDataServer } from '../../shared/data/store.js';
import { operationStatus } from '../../shared/operations/store.js';
import type { Payloads } from '../../shared/queues/work-catalog.js';
import { performRestore } from '../backups/perform-restore.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import { BackupError } from '../failures/explained-errors.js';
import type { JobDeps } from '../worker-deps.js';
import { DONE, runOperation } from './run-operation.js';

/** After this time, in milliseconds, a worker without the volume hands the restore to another worker. */
const ELSEWHERE_MS = 1_000;
/** A restore fails if its host has been away for longer than this, in milliseconds. */
const MAX_WAIT_MS = 60 * 60_000;

/** Handles the queue `restore`: replaces the data of a database by that of one of its backups. */
export async function restoreJob(
  deps: JobDeps,
  { operationId }: Payloads['restore'],
  helpers: JobHelpers,
): Promise<string> {
  let volume: string | null = null;
  const outcome = await runOperation(deps, operationId, helpers, async (run) => {
    const { operation, service } = run;
    const row = await findDataServer(deps.db, service.id);
    if (row?.host_id !== deps.data.hostId || !(await reachesArchive(deps, operation.backup_id))) {
      if (Date.now() - operation.created_at.getTime() > MAX_WAIT_MS) {
        throw new BackupError('the host that has the volume, or the archive, is away');
      }
      return { laterInMs: ELSEWHERE_MS, says: 'later' };
    }
    await performRestore(deps, run);
    volume = service.id;
    return DONE;
  });
  // Only now may the replaced data be removed.
  if (volume !== null) await deps.data.removeRestoreLeftovers((id) => operationStatus(deps.db, id), volume);
  return outcome;
}

/** Returns false if the archive is in another host's folder. A worker of that host then restores it. */
async function reachesArchive({ db, backups }: JobDeps, backupId: string | null): Promise<boolean> {
  const store = backupId === null ? null : ((await getBackup(db, backupId))?.store ?? null);
  return store === null || backups.stores.all.some(({ id }) => id === store);
}
