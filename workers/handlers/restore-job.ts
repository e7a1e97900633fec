import { getBackup } from '../../shared/backups/store.js';
import { findDataServer } from '../../shared/data/store.js';
import { claimRestore, openOperation, operationStatus } from '../../shared/operations/store.js';
import type { Payloads } from '../../shared/queues/catalog.js';
import { makeDue } from '../../shared/queues/due.js';
import { BackupError } from '../backups/backup-error.js';
import { performRestore } from '../backups/perform-restore.js';
import type { JobDeps } from '../worker-deps.js';
import type { JobHelpers } from './job-helpers.js';
import { NOT_CLAIMED, type OperationOutcome, type OperationRun, runOperation } from './run-operation.js';
import { waitForTurn } from './wait-for-turn.js';

/** A worker that does not have the volume leaves the restore to another one, after this time in milliseconds. */
const ELSEWHERE_MS = 1_000;
/** A restore whose host is away for so long has failed, in milliseconds. */
const LONGEST_WAIT_MS = 60 * 60_000;

/** Queue `restore`: replaces the data of a service by that of one of its backups. */
export async function restoreJob(
  deps: JobDeps,
  { operationId }: Payloads['restore'],
  helpers: JobHelpers,
): Promise<string> {
  let volume: string | null = null;
  const restore = async (run: OperationRun): Promise<OperationOutcome> => {
    const { operation, service } = run;
    const row = await findDataServer(deps.db, service.id);
    if (row?.host_id !== deps.data.hostId || !(await reachesArchive(deps, operation.backup_id))) {
      if (Date.now() - operation.created_at.getTime() > LONGEST_WAIT_MS) {
        throw new BackupError('the host that has the volume, or the archive, is away');
      }
      await makeDue(deps.db, 'operations', operation, ELSEWHERE_MS);
      return 'later';
    }
    await performRestore(deps, run);
    volume = service.id;
    return 'done';
  };
  const outcome = await runOperation(deps, operationId, helpers, restore, claimRestore);
  if (outcome === NOT_CLAIMED) return waitForTurn(deps.db, 'operations', await openOperation(deps.db, operationId));
  // Only now is the data before not needed any more.
  if (volume !== null) await deps.data.removeRestoreLeftovers((id) => operationStatus(deps.db, id), volume);
  return outcome;
}

/** False if the archive is in a folder of another host: a worker of that host restores it. */
async function reachesArchive({ db, backups }: JobDeps, backupId: string | null): Promise<boolean> {
  const store = backupId === null ? null : ((await getBackup(db, backupId))?.store ?? null);
  return store === null || backups.stores.all.some(({ id }) => id === store);
}
