import { moveLifecycle } from '../../shared/lifecycle/store.js';
import type { Payloads } from '../../shared/queues/work-catalog.js';
import { cancelOpenRuns } from '../../shared/runs/store.js';
import { isScalable } from '../../shared/services/model.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import type { Outcome } from '../engine/perform-record.js';
import { ReleaseError } from '../failures/explained-errors.js';
import { edgesApplied } from '../releases/edges-applied.js';
import { loadReleaseSpec } from '../releases/release-spec.js';
import type { JobDeps } from '../worker-deps.js';
import { followConfiguration } from './follow-configuration.js';
import { DONE, type OperationRun, runOperation } from './run-operation.js';

/** Restarts, suspends or resumes a service (specification, Service actions). */
export function runtimeActionJob(
  deps: JobDeps,
  { operationId }: Payloads['runtime-action'],
  helpers: JobHelpers,
): Promise<string> {
  return runOperation(deps, operationId, helpers, async (run) => {
    switch (run.operation.kind) {
      case 'restart':
        return restart(deps, run);
      case 'suspend':
        return suspend(deps, run);
      case 'resume':
        return resume(deps, run);
      default:
        throw new ReleaseError(`${run.operation.kind} is not a runtime action`);
    }
  });
}

async function restart(deps: JobDeps, { service, signal }: OperationRun): Promise<Outcome> {
  if (service.lifecycle_status === 'suspended') throw new ReleaseError('the service is suspended; resume it first');
  const spec = await liveSpec(deps, service.live_deployment_id);
  if (spec.image.manifest.type !== 'process') return DONE;
  await deps.runtime.restart(spec, signal);
  if (isScalable(service.kind)) await followConfiguration(deps, service.id, signal);
  return DONE;
}

/** The edges stop routing to the service before its processes are stopped, so that no request fails. */
async function suspend(deps: JobDeps, { service, signal }: OperationRun): Promise<Outcome> {
  const deploymentId = service.live_deployment_id;
  if (!deploymentId) throw new ReleaseError('the service has no release; deploy it first');
  const version = await deps.db.transaction(async (trx) => {
    const moved = await moveLifecycle(trx, service.id, ['active', 'suspended'], 'suspended');
    // A deployment in progress continues, and so does its pre-deploy command.
    for (const trigger of ['schedule', 'manual'] as const)
      await cancelOpenRuns(trx, { serviceId: service.id, trigger });
    return moved;
  });
  if (version !== undefined) await edgesApplied(deps.db, service.id, version, signal);
  await deps.runtime.stop(deploymentId);
  return DONE;
}

async function resume(deps: JobDeps, { service, signal }: OperationRun): Promise<Outcome> {
  const spec = await liveSpec(deps, service.live_deployment_id);
  if (!(await deps.images.has(spec.image)))
    throw new ReleaseError('the image of the release is not on this host; deploy the service again');
  if (spec.image.manifest.type === 'process') await deps.runtime.release(spec, signal);
  await deps.db.transaction((trx) => moveLifecycle(trx, service.id, ['suspended', 'active'], 'active'));
  return DONE;
}

async function liveSpec(deps: JobDeps, deploymentId: string | null) {
  if (!deploymentId) throw new ReleaseError('the service has no release; deploy it first');
  return loadReleaseSpec(deps.db, deps.keyring, deploymentId);
}
