import type { Transaction } from '../db/client.js';
import { lockService } from '../db/service-lifecycle.js';
import { updateServiceRow } from '../db/services.js';
import { AppError } from '../errors.js';

/**
 * Archives or restores a service (specification, Service lifecycle): deployment is prevented or allowed again, and
 * nothing else happens to it. Twice is harmless. Throws not_found, conflict while it is being deleted.
 */
export async function setArchived(trx: Transaction, serviceId: string, archived: boolean): Promise<void> {
  const service = await lockService(trx, serviceId);
  if (!service) throw new AppError('not_found');
  if (service.lifecycle_status === 'deleting') throw new AppError('conflict', 'The service is being deleted');
  if (service.archived !== archived) await updateServiceRow(trx, serviceId, { archived });
}
