import { claimBackup, getBackup } from '../../shared/backups/store.js';
import { errorMessage } from '../../shared/core/errors.js';
import type { Payloads } from '../../shared/queues/catalog.js';
import { performBackup } from '../backups/perform-backup.js';
import type { JobDeps } from '../worker-deps.js';
import type { JobHelpers } from './job-helpers.js';
import { waitForTurn } from './wait-for-turn.js';

/** Queue `backup`: makes one backup of a data service, anew if an earlier worker died while it made it. */
export async function backupJob(deps: JobDeps, { backupId }: Payloads['backup'], helpers: JobHelpers): Promise<string> {
  const backup = await claimBackup(deps.db, backupId, deps.workerId);
  if (!backup) return waitForTurn(deps.db, 'backups', await getBackup(deps.db, backupId));
  const lease = deps.leases.hold('backups', { id: backup.id, fence: backup.fence });
  try {
    return await performBackup(deps, backup, AbortSignal.any([lease.signal, helpers.signal]), helpers);
  } catch (error) {
    helpers.log.debug({ backupId, fence: backup.fence }, `the backup is left: ${errorMessage(error)}`);
    throw error;
  } finally {
    lease.stop();
    deps.dispatcher.wake();
  }
}
