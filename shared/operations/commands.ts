import type { Transaction } from '../core/database/database-client.js';
import { AppError, conflict } from '../core/error-registry.js';
import type { CommandDeps } from '../secrets/command-deps.js';
import type { ServiceRow } from '../services/rows.js';
import { lockService } from '../services/store.js';
import type { OperationKind, OperationRow, RuntimeAction } from './model.js';
import { findOpenOperation, insertOperation } from './store.js';

export interface OperationInput {
  service: Pick<ServiceRow, 'id' | 'workspace_id'>;
  actor: string;
}

/**
 * Queues a restart, suspend or resume (specification, Service actions). Throws not_found, hosting_disabled,
 * service_archived, no_runtime, conflict.
 */
export async function queueAction(
  trx: Transaction,
  deps: CommandDeps,
  { service: { id }, action, actor }: OperationInput & { action: RuntimeAction },
): Promise<OperationRow> {
  if (!deps.config.hostingEnabled) throw new AppError('hosting_disabled');
  const service = await lockService(trx, id);
  if (!service) throw new AppError('not_found');
  if (service.lifecycle_status === 'deleting') throw conflict('The service is being deleted');
  if (service.archived && action !== 'suspend') throw new AppError('service_archived');
  if (service.live_deployment_id === null) throw new AppError('no_runtime');
  if (action === 'restart' && service.lifecycle_status === 'suspended') {
    throw conflict('The service is suspended; resume it first');
  }
  await assertNotRestoring(trx, id);
  return queueOperation(trx, { service, actor }, action);
}

/** Queues an operation that applies the service's current configuration to the edge. */
export async function queueRouting(trx: Transaction, input: OperationInput): Promise<OperationRow> {
  return queueOperation(trx, input, 'routing');
}

/** Stores a queued operation, which becomes due when the transaction commits. */
export async function queueOperation(
  trx: Transaction,
  { service, actor }: OperationInput,
  kind: OperationKind,
  { backupId }: { backupId?: string } = {},
): Promise<OperationRow> {
  return insertOperation(trx, { workspaceId: service.workspace_id, serviceId: service.id, kind, actor, backupId });
}

/** Throws conflict during a restore, because nothing else may start, stop or replace the service then. */
export async function assertNotRestoring(trx: Transaction, serviceId: string): Promise<void> {
  if (!(await findOpenOperation(trx, serviceId, ['restore']))) return;
  throw conflict('The service is being restored from a backup; wait for the end of that operation');
}
