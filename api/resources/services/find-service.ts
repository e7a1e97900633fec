import { findServiceView, lockServiceView, type ServiceView } from '../../../shared/services/store.js';
import { found } from '../../http/assertions.js';
import type { ReadRequest, WriteRequest } from '../../http/route.js';

type ServicePath = '/workspaces/:workspaceId/services/:serviceId';

/**
 * Returns the service in the path. Uses the result in `found` if the query that checked the API key also read the
 * service. Throws not_found, also for a deleted service unless `deleted` is set.
 */
export async function readService(
  { db, params, found: known }: Pick<ReadRequest<ServicePath>, 'db' | 'params'> & Partial<Pick<ReadRequest, 'found'>>,
  { deleted = false }: { deleted?: boolean } = {},
): Promise<ServiceView> {
  if (known === undefined) return found(await findServiceView(db, params.workspaceId, params.serviceId, { deleted }));
  const service = found(known.service);
  return found(service.deleted_at === null || deleted ? service : undefined);
}

/**
 * Returns and locks the service in the path. Throws not_found, and forbidden if `authorize` refuses its environment.
 */
export async function lockService({
  trx,
  params,
  authorize,
}: Pick<WriteRequest<ServicePath>, 'trx' | 'params' | 'authorize'>): Promise<ServiceView> {
  const service = found(await lockServiceView(trx, params.workspaceId, params.serviceId));
  authorize({ protectedEnvironment: service.environment_protected });
  return service;
}
