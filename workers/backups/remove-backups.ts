import { deleteBackup, hiddenBackups, hideBackupsOfDeleted } from '../../shared/backups/store.js';
import { errorMessage } from '../../shared/core/errors.js';
import type { JobDeps } from '../worker-deps.js';

/** Removes hidden backups from the stores that this host reaches, then their rows. */
export async function removeHiddenBackups({ db, backups: { stores } }: JobDeps): Promise<string[]> {
  let removed = 0;
  for (const backup of await hiddenBackups(
    db,
    stores.all.map(({ id }) => id),
  )) {
    const store = stores.all.find(({ id }) => id === backup.store);
    // The prefix matches all claims of the backup: one that died may have left another archive.
    for (const { name } of (await store?.list(`${backup.service_id}/${backup.id}-`)) ?? []) await store?.remove(name);
    await deleteBackup(db, backup.id);
    removed += 1;
  }
  return removed > 0 ? [`removed ${removed} backups`] : [];
}

/** Removes the backups of services that were just deleted. What cannot be removed now, a sweep removes later. */
export async function removeBackupsOfDeleted(deps: JobDeps): Promise<void> {
  try {
    await hideBackupsOfDeleted(deps.db);
    await removeHiddenBackups(deps);
  } catch (error) {
    deps.log.warn(`backups of deleted services could not be removed, a sweep tries again: ${errorMessage(error)}`);
  }
}
