import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { dueSlot, expiredBackups, isObjectName } from '../../shared/backups/model.js';
import {
  backupsByAge,
  hideBackup,
  hideBackupsOfDeleted,
  insertBackup,
  isScheduled,
  namedObjects,
  openClaims,
  servicesToSchedule,
} from '../../shared/backups/store.js';
import { operationStatus } from '../../shared/operations/store.js';
import { lockService } from '../../shared/services/store.js';
import { CHECKS } from '../backups/work-folders.js';
import { discardTree } from '../core/remove-folders.js';
import type { JobDeps } from '../worker-deps.js';

/** An archive without a database row is removed at this age. The row of a newer archive may not be committed yet. */
const ORPHAN_MS = 60 * 60_000;

/** Queues the backups whose daily time has come. A unique index prevents a second backup of a day. */
export async function scheduleBackups({ db, dispatcher }: JobDeps): Promise<void> {
  let queued = 0;
  for (const { now, liveSince, ...rest } of await servicesToSchedule(db)) {
    if (liveSince === null) continue;
    const slot = dueSlot({ ...rest, liveSince }, now);
    if (slot === null) continue;
    const row = await db.transaction(async (trx) => {
      const service = await lockService(trx, rest.id);
      if (!service || !(await isScheduled(trx, rest.id))) return null;
      return insertBackup(trx, { service, trigger: 'schedule', actor: '', scheduledFor: slot });
    });
    if (row !== null) queued += 1;
  }
  if (queued > 0) dispatcher.wake();
}

/** Marks expired backups, and those of deleted services, as deleted. Another sweep removes the archives. */
export async function expireBackups({ db }: JobDeps): Promise<string[]> {
  await hideBackupsOfDeleted(db);
  let expired = 0;
  for (const { configuration, now, backups } of await backupsByAge(db)) {
    for (const id of expiredBackups(backups, configuration, now)) {
      if (await hideBackup(db, id)) expired += 1;
    }
  }
  return expired > 0 ? [`expired ${expired} backups`] : [];
}

/** Removes what dead workers left: archives without a backup, and folders of checks and restores. */
export async function removeBackupLeftovers(deps: JobDeps): Promise<string[]> {
  const { db, backups, config, log } = deps;
  const lines: string[] = [];
  for (const store of backups.stores.all) {
    const ours = (await store.list('')).filter(({ name }) => isObjectName(name));
    const old = ours.filter(({ changedAt }) => Date.now() - changedAt.getTime() > ORPHAN_MS);
    const named = await namedObjects(
      db,
      old.map(({ name }) => name),
    );
    const orphans = old.filter(({ name }) => !named.has(name));
    for (const { name } of orphans) await store.remove(name);
    if (orphans.length > 0) lines.push(`removed ${orphans.length} archives that belong to no backup`);
  }
  const folders = await readdir(join(config.dataDir, CHECKS)).catch(() => []);
  const open = folders.length === 0 ? new Set<string>() : await openClaims(db);
  const left = folders.filter((name) => !open.has(name));
  for (const name of left) await discardTree({ dataDir: config.dataDir, log }, join(config.dataDir, CHECKS, name));
  if (left.length > 0) lines.push(`removed ${left.length} folders of checks`);
  const restores = await deps.data.removeRestoreLeftovers((id) => operationStatus(db, id));
  if (restores > 0) lines.push(`removed ${restores} folders of restores`);
  return lines;
}
