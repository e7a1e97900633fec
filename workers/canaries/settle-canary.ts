import type { Transaction } from '../../shared/core/database/database-client.js';
import {
  openCanaries,
  promoteCanary,
  readCanary,
  sendVisitorsBack,
  withdrawCanary,
} from '../../shared/deployments/canary-store.js';
import type { DeploymentRow } from '../../shared/deployments/rows.js';
import { lockService } from '../../shared/services/store.js';
import { sweepEach } from '../core/sweep-each.js';
import { edgesApplied } from '../releases/edges-applied.js';
import type { JobDeps } from '../worker-deps.js';
import { decideCanary } from './decide-canary.js';

type Deps = Pick<JobDeps, 'db' | 'dispatcher'>;

/** Promotes or withdraws each canary that can be decided now. */
export async function settleCanaries(deps: Pick<JobDeps, 'db' | 'dispatcher' | 'log'>): Promise<void> {
  const facts = (deploymentId: string) => ({ deploymentId });
  const options = { log: deps.log, atOnce: 4, failure: 'a canary was not judged', facts };
  await sweepEach(await openCanaries(deps.db), options, async (id) => {
    await settleCanary(deps, id);
    return [];
  });
}

/** Promotes or withdraws a canary if a decision is possible. Several workers may call it at once. */
export async function settleCanary({ db, dispatcher }: Deps, deploymentId: string): Promise<void> {
  const seen = await readCanary(db, deploymentId);
  if (seen === null || seen.endedAt !== null || decideCanary(seen).type === 'wait') return;
  await db.transaction((trx) => carryOut(trx, seen.serviceId, deploymentId));
  dispatcher.wake();
}

/** Decides again under the service's lock, because the canary may have changed since it was read. */
async function carryOut(trx: Transaction, serviceId: string, deploymentId: string): Promise<void> {
  await lockService(trx, serviceId);
  const canary = await readCanary(trx, deploymentId);
  if (canary === null || canary.endedAt !== null) return;
  const decision = decideCanary(canary);
  if (decision.type === 'promote') await promoteCanary(trx, deploymentId, decision.reason);
  else if (decision.type === 'withdraw') await withdrawCanary(trx, deploymentId, decision.reason);
}

/** Sends all visitors back to the previous release. Waits at most 30 s until no edge uses the new one. */
export async function endCanary({ db }: Pick<JobDeps, 'db'>, deployment: DeploymentRow): Promise<void> {
  const { id, service_id: serviceId } = deployment;
  await db.transaction(async (trx) => {
    await lockService(trx, serviceId);
    await sendVisitorsBack(trx, id, 'the deployment was cancelled');
  });
  await edgesApplied(db, serviceId, null, null);
}
