import type { Transaction } from '../db/client.js';
import { insertOperation } from '../db/operations.js';
import type { OperationRow, ServiceRow } from '../db/rows.js';
import { lockService } from '../db/service-lifecycle.js';
import type { OperationKind, RuntimeAction } from '../domain/operation.js';
import { AppError } from '../errors.js';
import type { QueueName } from '../queues/catalog.js';
import { enqueue } from '../queues/enqueue.js';
import type { CommandDeps } from './deps.js';

export interface OperationInput {
  service: Pick<ServiceRow, 'id' | 'workspace_id'>;
  actor: string;
}

export const OPERATION_QUEUES = {
  restart: 'runtime-action',
  suspend: 'runtime-action',
  resume: 'runtime-action',
  delete: 'deletion',
  routing: 'routing-reconciliation',
} as const satisfies Record<OperationKind, QueueName>;

/** Queues restart, suspend or resume (specification, Service actions). Throws hosting_disabled, service_archived, no_runtime, conflict. */
export async function queueAction(
  trx: Transaction,
  deps: CommandDeps,
  { service: { id }, action, actor }: OperationInput & { action: RuntimeAction },
): Promise<OperationRow> {
  if (!deps.config.hostingEnabled) throw new AppError('hosting_disabled');
  const service = await lockService(trx, id);
  if (!service) throw new AppError('not_found');
  if (service.lifecycle_status === 'deleting') throw new AppError('conflict', 'The service is being deleted');
  if (service.archived && action !== 'suspend') throw new AppError('service_archived');
  if (service.live_deployment_id === null) throw new AppError('no_runtime');
  if (action === 'restart' && service.lifecycle_status === 'suspended') {
    throw new AppError('conflict', 'The service is suspended; resume it first');
  }
  return queueOperation(trx, { service, actor }, action);
}

/** Queues the reconciliation of what the edge serves with the service's configuration. */
export async function queueRouting(trx: Transaction, input: OperationInput): Promise<OperationRow> {
  return queueOperation(trx, input, 'routing');
}

/** Stores an operation and its job, in one transaction. */
export async function queueOperation(
  trx: Transaction,
  { service, actor }: OperationInput,
  kind: OperationKind,
): Promise<OperationRow> {
  const operation = await insertOperation(trx, {
    workspaceId: service.workspace_id,
    serviceId: service.id,
    kind,
    actor,
  });
  await enqueue(trx, {
    queue: OPERATION_QUEUES[kind],
    recordId: operation.id,
    dispatch: operation.dispatches,
    payload: { operationId: operation.id },
  });
  return operation;
}
