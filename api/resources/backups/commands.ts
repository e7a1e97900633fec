import { BACKED_UP_KINDS, type BackupRow, MAX_MANUAL_BACKUPS } from '../../../shared/backups/model.js';
import {
  countManualBackups,
  findBackup,
  hasOpenBackup,
  hideBackup,
  insertBackup,
} from '../../../shared/backups/store.js';
import type { Transaction } from '../../../shared/core/database/database-client.js';
import { AppError } from '../../../shared/core/error-registry.js';
import { hasOpenDeployment } from '../../../shared/deployments/store.js';
import { assertNotRestoring, queueOperation } from '../../../shared/operations/commands.js';
import type { OperationRow } from '../../../shared/operations/model.js';
import { findOpenOperation } from '../../../shared/operations/store.js';
import type { CommandDeps } from '../../../shared/secrets/command-deps.js';
import type { ServiceRow } from '../../../shared/services/rows.js';
import { lockLiveService } from '../services/lock-live-service.js';

export interface BackupInput {
  service: Pick<ServiceRow, 'id'>;
  actor: string;
}

/**
 * Queues a backup of a database now. Throws hosting_disabled, not_found, service_archived, no_runtime,
 * capacity_exceeded.
 * Throws conflict if the service is of another kind, does not run, has backups disabled, or has one in progress.
 */
export async function queueBackup(
  trx: Transaction,
  deps: CommandDeps,
  { service: { id }, actor }: BackupInput,
): Promise<BackupRow> {
  const service = await lockLiveService(trx, deps, { id, kinds: BACKED_UP_KINDS, have: 'backups' });
  if (!service.configuration.backupEnabled) {
    throw new AppError('conflict', 'Backups of this service are disabled; set backupEnabled to true first');
  }
  await assertNotRestoring(trx, id);
  if ((await countManualBackups(trx, id)) >= MAX_MANUAL_BACKUPS) {
    throw new AppError(
      'capacity_exceeded',
      `The service has ${MAX_MANUAL_BACKUPS} backups on demand, the most there may be; delete one first`,
    );
  }
  const row = await insertBackup(trx, { service, trigger: 'manual', actor, scheduledFor: null });
  if (!row) throw new AppError('conflict', 'A backup of this service is under way; wait for its end');
  return row;
}

/**
 * Queues the restoration of a database from one of its backups.
 * Throws what `queueBackup` throws for the service, not_found for the backup, and conflict if the backup did not
 * succeed or the service is busy.
 */
export async function queueRestore(
  trx: Transaction,
  deps: CommandDeps,
  { service: { id }, backupId, actor }: BackupInput & { backupId: string },
): Promise<OperationRow> {
  const service = await lockLiveService(trx, deps, { id, kinds: BACKED_UP_KINDS, have: 'backups' });
  const backup = await findBackup(trx, id, backupId);
  if (!backup) throw new AppError('not_found');
  if (backup.status !== 'succeeded') {
    throw new AppError('conflict', `Only a backup that succeeded can be restored; this one is ${backup.status}`);
  }
  await assertNotRestoring(trx, id);
  if (await hasOpenDeployment(trx, id)) {
    throw new AppError('conflict', 'A deployment of this service is under way; wait for its end or cancel it');
  }
  if (await hasOpenBackup(trx, id)) {
    throw new AppError('conflict', 'A backup of this service is under way; wait for its end');
  }
  const open = await findOpenOperation(trx, id, ['restart', 'suspend', 'resume', 'routing']);
  if (open) throw new AppError('conflict', `The operation ${open.kind} of this service is under way; wait for its end`);
  return queueOperation(trx, { service, actor }, 'restore', { backupId });
}

/** Deletes a backup. Throws not_found, and conflict while it is being made or restored. */
export async function removeBackup(
  trx: Transaction,
  { serviceId, backupId }: { serviceId: string; backupId: string },
): Promise<void> {
  const backup = await findBackup(trx, serviceId, backupId);
  if (!backup) throw new AppError('not_found');
  const restore = await findOpenOperation(trx, serviceId, ['restore']);
  if (restore?.backup_id === backupId) throw new AppError('conflict', 'The service is being restored from this backup');
  if (!(await hideBackup(trx, backupId))) {
    throw new AppError('conflict', `The backup is ${backup.status}; it can be deleted when it has ended`);
  }
}
