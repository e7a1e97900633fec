import { deleteBackup, hiddenBackups, hideBackupsOfDeleted } from '../../shared/backups/store.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { sweepEach } from '../core/sweep-each.js';
import type { JobDeps } from '../worker-deps.js';

const AT_ONCE = 4;

/** Removes backups marked as deleted from the stores that this host can reach. Then deletes their rows. */
export async function removeHiddenBackups({ db, log, backups: { stores } }: JobDeps): Promise<string[]> {
  const hidden = await hiddenBackups(
    db,
    stores.all.map(({ id }) => id),
  );
  const failure = 'a backup was not removed';
  const facts = ({ id }: { id: string }) => ({ backupId: id });
  const removed = await sweepEach(hidden, { log, atOnce: AT_ONCE, failure, facts }, async (backup) => {
    const store = stores.all.find(({ id }) => id === backup.store);
    // The prefix matches the archives of all attempts, because a worker that died may have left a second archive.
    for (const { name } of (await store?.list(`${backup.service_id}/${backup.id}-`)) ?? []) await store?.remove(name);
    await deleteBackup(db, backup.id);
    return [backup.id];
  });
  return removed.length > 0 ? [`removed ${removed.length} backups`] : [];
}

/** Removes the backups of services that were just deleted. If that fails, a sweep removes them later. */
export async function removeBackupsOfDeleted(deps: JobDeps): Promise<void> {
  try {
    await hideBackupsOfDeleted(deps.db);
    await removeHiddenBackups(deps);
  } catch (error) {
    deps.log.warn(`backups of deleted services could not be removed, a sweep tries again: ${errorMessage(error)}`);
  }
}
