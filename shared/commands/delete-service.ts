import type { Transaction } from '../db/client.js';
import { cancelOpenDeployments } from '../db/deployments.js';
import type { OperationRow } from '../db/rows.js';
import { eraseService, hasInfrastructure, lockService, markDeleting } from '../db/service-lifecycle.js';
import { AppError } from '../errors.js';
import { type OperationInput, queueOperation } from './queue-operation.js';

export interface DeletionResult {
  deleted: boolean;
  queued: boolean;
  operation: OperationRow | null;
}

/**
 * Deletes a service (specification, Service lifecycle): at once where nothing of it exists outside the database, else it
 * is archived, its open deployments are cancelled and the deletion is queued. Throws not_found, conflict.
 */
export async function deleteService(
  trx: Transaction,
  { service: { id }, actor }: OperationInput,
): Promise<DeletionResult> {
  const service = await lockService(trx, id);
  if (!service) throw new AppError('not_found');
  if (service.lifecycle_status === 'deleting') throw new AppError('conflict', 'The service is already being deleted');
  await cancelOpenDeployments(trx, { serviceId: id });
  if (!(await hasInfrastructure(trx, id))) {
    await eraseService(trx, id);
    return { deleted: true, queued: false, operation: null };
  }
  await markDeleting(trx, id);
  return { deleted: false, queued: true, operation: await queueOperation(trx, { service, actor }, 'delete') };
}
