import { BACKED_UP_KINDS, type BackupRow, MAX_MANUAL_BACKUPS } from '../../../shared/backups/model.js';
import { assertRestorable } from '../../../shared/backups/restore-commands.js';
import {
  countManualBackups,
  findBackup,
  hasOpenBackup,
  hideBackup,
  insertBackup,
} from '../../../shared/backups/store.js';
import type { Transaction } from '../../../shared/core/database/database-client.js';
import { AppError, invalidField } from '../../../shared/core/error-registry.js';
import { hasOpenDeployment } from '../../../shared/deployments/store.js';
import { assertNotRestoring, queueOperation } from '../../../shared/operations/commands.js';
import type { OperationRow } from '../../../shared/operations/model.js';
import { findOpenOperation, isBeingRestored } from '../../../shared/operations/store.js';
import { countOpenRuns } from '../../../shared/runs/store.js';
import type { CommandDeps } from '../../../shared/secrets/command-deps.js';
import { isDataKind } from '../../../shared/services/model.js';
import type { ServiceRow } from '../../../shared/services/rows.js';
import { lockService } from '../../../shared/services/store.js';
import { listVolumes } from '../../../shared/volumes/store.js';
import { lockLiveService } from '../services/lock-live-service.js';

export interface BackupInput {
  service: Pick<ServiceRow, 'id'>;
  actor: string;
}

/**
 * Queues an on-demand backup. Throws hosting_disabled, not_found, service_archived, no_runtime or capacity_exceeded.
 * Also throws invalid_request if `pause` is set for a database, and conflict if the service cannot be backed up now.
 */
export async function queueBackup(
  trx: Transaction,
  deps: CommandDeps,
  { service: { id }, actor, pause = false }: BackupInput & { pause?: boolean | undefined },
): Promise<BackupRow> {
  const { service, volumes } = await lockBackedUp(trx, deps, id, pause);
  if (volumes.length > 0 && volumes.every(({ host_id }) => host_id === null)) {
    throw new AppError('conflict', 'No release of the service has mounted its volumes yet; deploy it first');
  }
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
  const row = await insertBackup(trx, { service, trigger: 'manual', actor, scheduledFor: null, pause });
  if (!row) throw new AppError('conflict', 'A backup of this service is under way; wait for its end');
  return row;
}

/**
 * Queues a restore of a service from a backup of the service `from`. Throws hosting_disabled, service_archived or
 * no_runtime, and not_found if the service or the backup does not exist. Throws conflict if the backup did not succeed,
 * if its data does not fit into the service, or if the service cannot be restored now.
 */
export async function queueRestore(
  trx: Transaction,
  deps: CommandDeps,
  { service: { id }, backupId, actor, from }: BackupInput & { backupId: string; from: ServiceRow },
): Promise<OperationRow> {
  const { service } = await lockBackedUp(trx, deps, id);
  await assertRestorable(trx, { service, from, backupId, missing: () => new AppError('not_found') });
  if (await hasOpenDeployment(trx, id)) {
    throw new AppError('conflict', 'A deployment of this service is under way; wait for its end or cancel it');
  }
  if (await hasOpenBackup(trx, id)) {
    throw new AppError('conflict', 'A backup of this service is under way; wait for its end');
  }
  const open = await findOpenOperation(trx, id, ['restart', 'suspend', 'resume', 'routing']);
  if (open) throw new AppError('conflict', `The operation ${open.kind} of this service is under way; wait for its end`);
  if (!isDataKind(service.kind) && (await countOpenRuns(trx, id, 'all')) > 0) {
    throw new AppError('conflict', 'A run uses the volumes of this service; cancel it or wait for its end');
  }
  return queueOperation(trx, { service, actor }, 'restore', { backupId });
}

async function lockBackedUp(trx: Transaction, deps: CommandDeps, id: string, pause = false) {
  const found = await lockService(trx, id);
  if (pause && found && isDataKind(found.kind)) {
    throw invalidField('pause', `is only for volumes; the copy of a ${found.kind} database is of one instant anyway`);
  }
  const volumes = await listVolumes(trx, id);
  if (found && !isDataKind(found.kind) && volumes.length === 0) {
    throw new AppError(
      'conflict',
      `The service is of kind ${found.kind} and has no volume; only databases and volumes have backups`,
    );
  }
  const service = await lockLiveService(trx, deps, { id, kinds: BACKED_UP_KINDS, have: 'backups' });
  return { service, volumes };
}

/** Deletes a backup. Throws not_found if it does not exist, and conflict while it is being created or restored. */
export async function removeBackup(
  trx: Transaction,
  { serviceId, backupId }: { serviceId: string; backupId: string },
): Promise<void> {
  const backup = await findBackup(trx, serviceId, backupId);
  if (!backup) throw new AppError('not_found');
  if (await isBeingRestored(trx, backupId))
    throw new AppError('conflict', 'A service is being restored from this backup');
  if (!(await hideBackup(trx, backupId))) {
    throw new AppError('conflict', `The backup is ${backup.status}; it can be deleted when it has ended`);
  }
}
