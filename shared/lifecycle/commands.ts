import { abandonBackups } from '../backups/store.js';
import type { Transaction } from '../core/database/database-client.js';
import { AppError, conflict } from '../core/error-registry.js';
import { assertUnreferenced } from '../data/commands.js';
import { cancelOpenDeployments } from '../deployments/store.js';
import { type OperationInput, queueOperation } from '../operations/commands.js';
import type { OperationRow } from '../operations/model.js';
import { cancelOpenRuns } from '../runs/store.js';
import { lockService, updateServiceRow } from '../services/store.js';
import { eraseService, hasInfrastructure, markDeleting } from './store.js';

/**
 * Allows or prevents deployments (specification, Service lifecycle). Throws not_found, and conflict if the service is
 * being deleted.
 */
export async function setArchived(trx: Transaction, serviceId: string, archived: boolean): Promise<void> {
  const service = await lockService(trx, serviceId);
  if (!service) throw new AppError('not_found');
  if (service.lifecycle_status === 'deleting') throw conflict('The service is being deleted');
  if (service.archived !== archived) await updateServiceRow(trx, serviceId, { archived });
}

export interface DeletionResult {
  deleted: boolean;
  queued: boolean;
  operation: OperationRow | null;
}

/**
 * Deletes a service, or queues the deletion of its infrastructure (specification, Service lifecycle). Throws not_found,
 * and conflict if the service is already being deleted or if other services refer to it.
 */
export async function deleteService(
  trx: Transaction,
  { service: { id }, actor }: OperationInput,
): Promise<DeletionResult> {
  const service = await lockService(trx, id);
  if (!service) throw new AppError('not_found');
  if (service.lifecycle_status === 'deleting') throw conflict('The service is already being deleted');
  await assertUnreferenced(trx, service);
  await cancelOpenDeployments(trx, { serviceId: id });
  await cancelOpenRuns(trx, { serviceId: id });
  await abandonBackups(trx, id);
  if (!(await hasInfrastructure(trx, id))) {
    await eraseService(trx, id);
    return { deleted: true, queued: false, operation: null };
  }
  await markDeleting(trx, id);
  return { deleted: false, queued: true, operation: await queueOperation(trx, { service, actor }, 'delete') };
}
