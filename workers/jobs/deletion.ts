import { countDispatch } from '../../shared/db/abandoned.js';
import { hasOpenDeployment } from '../../shared/db/deployments.js';
import { runningReleases } from '../../shared/db/releases.js';
import { eraseService } from '../../shared/db/service-lifecycle.js';
import type { Payloads } from '../../shared/queues/catalog.js';
import { enqueue } from '../../shared/queues/enqueue.js';
import type { WorkshopDeps } from '../deploy/deps.js';
import { edgesApplied } from '../edges-applied.js';
import type { JobHelpers } from './helpers.js';
import { type OperationRun, runOperation } from './run-operation.js';

const LOOK_AGAIN_MS = 500;

/** Queue `deletion`: ends everything a service has outside the database, then erases what is inside. */
export function deletionJob(
  deps: WorkshopDeps,
  { operationId }: Payloads['deletion'],
  helpers: JobHelpers,
): Promise<string> {
  return runOperation(deps, operationId, helpers, async ({ operation, service, signal }) => {
    // Its deployments were cancelled with the request; a slot is not spent on waiting for their workers.
    if (await hasOpenDeployment(deps.db, service.id)) {
      await lookAgain(deps, operation);
      return 'later';
    }
    await edgesApplied(deps.db, service.id, service.route_version, signal);
    for (const deploymentId of await runningReleases(deps.db, service.id)) await deps.runtime.stop(deploymentId);
    await deps.db.transaction((trx) => eraseService(trx, service.id));
    return 'done';
  });
}

async function lookAgain(deps: WorkshopDeps, operation: OperationRun['operation']): Promise<void> {
  await deps.db.transaction(async (trx) => {
    const dispatch = await countDispatch(trx, 'operations', operation.id, operation.dispatches);
    if (dispatch === undefined) return;
    const payload = { operationId: operation.id };
    await enqueue(trx, { queue: 'deletion', recordId: operation.id, dispatch, payload }, LOOK_AGAIN_MS);
  });
}
