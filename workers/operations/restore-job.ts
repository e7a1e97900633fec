import { getBackup } from '../../shared/backups/store.js';
import { findDataServer } from '../../shared/data/store.js';
import { operationStatus } from '../../shared/operations/store.js';
import type { Payloads } from '../../shared/queues/catalog.js';
import { performRestore } from '../backups/perform-restore.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import { BackupError } from '../failures/explained.js';
import type { JobDeps } from '../worker-deps.js';
import { DONE, runOperation } from './run-operation.js';

/** A worker that does not have the volume leaves the restore to another one, after this time in milliseconds. */
const ELSEWHERE_MS = 1_000;
/** A restore fails if its host is away for longer, in milliseconds. */
const MAX_WAIT_MS = 60 * 60_000;

/** Queue `restore`: replaces the data of a service by that of one of its backups. */
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
  // Only now can the replaced data go.
  if (volume !== null) await deps.data.removeRestoreLeftovers((id) => operationStatus(deps.db, id), volume);
  return outcome;
}

/** Returns false if the archive is in a folder of another host: a worker of that host restores it. */
async function reachesArchive({ db, backups }: JobDeps, backupId: string | null): Promise<boolean> {
  const store = backupId === null ? null : ((await getBackup(db, backupId))?.store ?? null);
  return store === null || backups.stores.all.some(({ id }) => id === store);
}
