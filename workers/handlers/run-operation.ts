import type { OperationRow } from '../../shared/operations/model.js';
import { claimOperation, endOperation, releaseOperation } from '../../shared/operations/store.js';
import { Masker } from '../../shared/secrets/mask.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import { getService } from '../../shared/services/store.js';
import { causeOf, failureOf } from '../failures.js';
import { Interrupted, JobFailed } from '../interrupted.js';
import type { JobDeps } from '../worker-deps.js';
import type { JobHelpers } from './job-helpers.js';

export interface OperationRun {
  operation: OperationRow;
  service: ServiceRow;
  signal: AbortSignal;
}

/** The outcome of an operation that has ended, or that has to wait. */
export const NOT_CLAIMED = 'nothing to do';

/** `later` leaves the operation queued: the handler has made another job due for it. */
export type OperationOutcome = 'done' | 'later';

/**
 * Claims an operation, runs the handler and records the end. If the service no longer exists, the operation succeeds
 * without doing anything. Faults of the platform leave it open, and the job is tried again. `claim` may return null for one that
 * has to wait.
 */
export async function runOperation(
  deps: JobDeps,
  operationId: string,
  helpers: JobHelpers,
  handler: (run: OperationRun) => Promise<OperationOutcome>,
  claim = claimOperation,
): Promise<string> {
  const operation = await claim(deps.db, operationId, deps.workerId);
  if (!operation) return NOT_CLAIMED;
  const lease = deps.leases.hold('operations', { id: operation.id, fence: operation.fence });
  const signal = AbortSignal.any([lease.signal, helpers.signal]);
  try {
    helpers.report(`${operation.kind}: begins (fence ${operation.fence})`);
    const service = await getService(deps.db, operation.service_id);
    const outcome = service ? await handler({ operation, service, signal }) : 'done';
    if (outcome === 'later') {
      await releaseOperation(deps.db, lease);
      return 'later';
    }
    await endOperation(deps.db, lease, 'succeeded');
    return 'succeeded';
  } catch (error) {
    return await endFailed(deps, operation, error, signal, helpers);
  } finally {
    lease.stop();
  }
}

async function endFailed(
  deps: JobDeps,
  operation: OperationRow,
  error: unknown,
  signal: AbortSignal,
  helpers: JobHelpers,
): Promise<string> {
  const failure = failureOf(error, signal);
  if (failure.type === 'interrupted') {
    if (failure.why === 'superseded') return 'superseded';
    await releaseOperation(deps.db, operation);
    throw new Interrupted('shutdown');
  }
  if (failure.type === 'platformFault' && !helpers.lastAttempt) throw failure.error;
  const message = `${operation.kind}: ${causeOf(failure)}`;
  if (await endOperation(deps.db, operation, 'failed', message)) await explainInLog(deps, operation, message);
  throw new JobFailed(message);
}

/** Writes the cause to the service's log, so that the person who requested the operation finds it. */
async function explainInLog(deps: JobDeps, operation: OperationRow, message: string): Promise<void> {
  const service = await getService(deps.db, operation.service_id);
  if (!service?.live_deployment_id) return;
  const channel = deps.logs.open({
    serviceId: service.id,
    deploymentId: service.live_deployment_id,
    masker: new Masker([]),
  });
  await channel.write('system', `The operation failed at ${message}`, 'error');
  await channel.close();
}
