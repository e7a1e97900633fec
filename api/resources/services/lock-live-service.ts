import type { Transaction } from '../../../shared/core/database/database-client.js';
import { AppError, type ErrorCode } from '../../../shared/core/error-registry.js';
import type { CommandDeps } from '../../../shared/secrets/command-deps.js';
import type { ServiceKind } from '../../../shared/services/model.js';
import type { ServiceRow } from '../../../shared/services/rows.js';
import { lockService } from '../../../shared/services/store.js';

/** Error codes that `lockLiveService` throws, in addition to not_found. */
export const LIVE_SERVICE_ERRORS: readonly ErrorCode[] = [
  'conflict',
  'service_archived',
  'no_runtime',
  'hosting_disabled',
];

/**
 * Locks a service that has a live release. Throws hosting_disabled, not_found, service_archived and no_runtime. Throws
 * conflict if the service is of a kind that is not in `kinds`, is suspended or is being deleted.
 */
export async function lockLiveService(
  trx: Transaction,
  { config }: CommandDeps,
  { id, kinds, have }: { id: string; kinds: readonly ServiceKind[]; have: string },
): Promise<ServiceRow & { live_deployment_id: string }> {
  if (!config.hostingEnabled) throw new AppError('hosting_disabled');
  const service = await lockService(trx, id);
  if (!service) throw new AppError('not_found');
  if (!kinds.includes(service.kind)) {
    throw new AppError(
      'conflict',
      `Only services of kind ${kinds.join(' and ')} have ${have}; this one is of kind ${service.kind}`,
    );
  }
  if (service.lifecycle_status === 'deleting') throw new AppError('conflict', 'The service is being deleted');
  if (service.archived) throw new AppError('service_archived');
  const { live_deployment_id } = service;
  if (live_deployment_id === null) throw new AppError('no_runtime');
  if (service.lifecycle_status === 'suspended') {
    throw new AppError('conflict', 'The service is suspended; resume it first');
  }
  return { ...service, live_deployment_id };
}
