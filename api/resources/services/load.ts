import { findServiceView, lockServiceView, type ServiceView } from '../../../shared/db/services.js';
import { AppError } from '../../../shared/errors.js';
import type { ReadRequest, WriteRequest } from '../../route.js';

type ServicePath = '/workspaces/:workspaceId/services/:serviceId';

/** The service of the path. Throws not_found. */
export async function readService(
  { db, params }: Pick<ReadRequest<ServicePath>, 'db' | 'params'>,
  options: { deleted?: boolean } = {},
): Promise<ServiceView> {
  const service = await findServiceView(db, params.workspaceId, params.serviceId, options);
  if (!service) throw new AppError('not_found');
  return service;
}

/** The service of the path, locked for a change of it: in a protected environment that takes an admin. */
export async function loadService({
  trx,
  params,
  authorize,
}: Pick<WriteRequest<ServicePath>, 'trx' | 'params' | 'authorize'>): Promise<ServiceView> {
  const service = await lockServiceView(trx, params.workspaceId, params.serviceId);
  if (!service) throw new AppError('not_found');
  authorize({ protectedEnvironment: service.environment_protected });
  return service;
}
