import { claimOperation, endOperation, releaseOperation, renewOperation } from '../../shared/db/operations.js';
import type { OperationRow, ServiceRow } from '../../shared/db/rows.js';
import { getService } from '../../shared/db/service-lifecycle.js';
import { AppError, errorMessage } from '../../shared/errors.js';
import { SealError } from '../../shared/secrets/keyring.js';
import { Masker } from '../../shared/secrets/mask.js';
import { LEASE_SECONDS } from '../deploy/claim-watch.js';
import type { WorkshopDeps } from '../deploy/deps.js';
import { Interrupted, JobFailed } from '../interrupted.js';
import { ReleaseError } from '../runtime/driver.js';
import type { JobHelpers } from './helpers.js';

const RENEW_MS = 2000;

export interface OperationRun {
  operation: OperationRow;
  service: ServiceRow;
  signal: AbortSignal;
}

/** `later` leaves the operation queued: the handler has made another job for it. */
export type OperationOutcome = 'done' | 'later';

/**
 * Claims an operation, runs the handler and records the end. A service that is gone ends it as succeeded: there is
 * nothing left to do. Faults of the platform leave it open and are tried again.
 */
export async function runOperation(
  deps: WorkshopDeps,
  operationId: string,
  helpers: JobHelpers,
  handler: (run: OperationRun) => Promise<OperationOutcome>,
): Promise<string> {
  const operation = await claimOperation(deps.db, operationId, deps.workerId, LEASE_SECONDS);
  if (!operation) return 'nothing to do';
  const claim = { id: operation.id, fence: operation.fence };
  const lost = new AbortController();
  const timer = setInterval(() => {
    renewOperation(deps.db, claim, LEASE_SECONDS).then(
      (held) => held || lost.abort(new Interrupted('superseded')),
      (error) => helpers.log.warn(`cannot renew the operation: ${errorMessage(error)}`),
    );
  }, RENEW_MS);
  try {
    await helpers.report(`${operation.kind}: begins (fence ${operation.fence})`);
    const service = await getService(deps.db, operation.service_id);
    const signal = AbortSignal.any([lost.signal, helpers.signal]);
    const outcome = service ? await handler({ operation, service, signal }) : 'done';
    if (outcome === 'later') {
      await releaseOperation(deps.db, claim);
      return 'later';
    }
    await endOperation(deps.db, claim, 'succeeded');
    return 'succeeded';
  } catch (error) {
    return await endFailed(deps, operation, lost.signal.aborted ? lost.signal.reason : error, helpers);
  } finally {
    clearInterval(timer);
  }
}

async function endFailed(
  deps: WorkshopDeps,
  operation: OperationRow,
  error: unknown,
  helpers: JobHelpers,
): Promise<string> {
  const claim = { id: operation.id, fence: operation.fence };
  const cause = helpers.signal.aborted ? helpers.signal.reason : error;
  if (cause instanceof Interrupted) {
    if (cause.why === 'superseded') return 'superseded';
    await releaseOperation(deps.db, claim);
    throw cause;
  }
  const explained = [ReleaseError, AppError, SealError].some((kind) => cause instanceof kind);
  if (!explained && !helpers.lastAttempt) throw cause;
  const message = `${operation.kind}: ${explained ? '' : 'internal error: '}${errorMessage(cause)}`;
  if (await endOperation(deps.db, claim, 'failed', message)) await tell(deps, operation, message);
  throw new JobFailed(message);
}

/** The person who asked finds the cause in the service's log. */
async function tell(deps: WorkshopDeps, operation: OperationRow, message: string): Promise<void> {
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
