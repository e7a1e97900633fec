import { findServiceView, lockServiceView, type ServiceView } from '../../../shared/services/store.js';
import { found } from '../../http/assertions.js';
import type { ReadRequest, WriteRequest } from '../../http/route.js';

type ServicePath = '/workspaces/:workspaceId/services/:serviceId';

/** The service of the path. Throws not_found. */
export async function readService(
  { db, params }: Pick<ReadRequest<ServicePath>, 'db' | 'params'>,
  options: { deleted?: boolean } = {},
): Promise<ServiceView> {
  return found(await findServiceView(db, params.workspaceId, params.serviceId, options));
}

/** The service of the path, locked for a change. Throws not_found, and forbidden if its environment is protected. */
export async function lockService({
  trx,
  params,
  authorize,
}: Pick<WriteRequest<ServicePath>, 'trx' | 'params' | 'authorize'>): Promise<ServiceView> {
  const service = found(await lockServiceView(trx, params.workspaceId, params.serviceId));
  authorize({ protectedEnvironment: service.environment_protected });
  return service;
}
