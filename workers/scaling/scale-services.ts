import type { Transaction } from '../../shared/core/database/database-client.js';
import { platformLine } from '../../shared/logs/model.js';
import { queueRouting } from '../../shared/operations/commands.js';
import { affordableReplicas } from '../../shared/workspaces/workspace-limits.js';
import { sweepEach } from '../core/sweep-each.js';
import { sampleSeconds } from '../metrics/collect-metrics.js';
import type { JobDeps } from '../worker-deps.js';
import { decideScaling, forgotten, type ScalingDecision, type ScalingFacts, scalingMessage } from './model.js';
import {
  lockObserved,
  type ObservedService,
  observeServices,
  type Remembered,
  rememberAll,
  storeDecision,
} from './store.js';

const ACTOR = 'automatic scaling';

type Deps = Pick<JobDeps, 'db' | 'config' | 'logs' | 'dispatcher' | 'log'>;

/** Adds or removes replicas of services with automatic scaling, as their usage requires. */
export async function scaleServices(deps: Deps): Promise<void> {
  const { db, config } = deps;
  const observed = await observeServices(db, {
    readySeconds: config.scalingReadySeconds,
    freshSeconds: sampleSeconds(config),
  });
  const now = Date.now();
  const unchanged: Remembered[] = [];
  const changes: { service: ObservedService; facts: ScalingFacts; decision: ScalingDecision }[] = [];
  for (const service of observed) {
    // While a deployment or an operation is in progress, usage is not a valid basis for a decision.
    if (service.busy) {
      if (service.memory.wishes.length > 0) unchanged.push({ ...service, memory: forgotten(service.memory) });
      continue;
    }
    const facts: ScalingFacts = { ...service, now, quietMs: config.scalingQuietSeconds * 1000 };
    const decision = decideScaling(facts);
    if (decision.replicas === service.replicas) unchanged.push({ ...service, memory: decision.memory });
    else changes.push({ service, facts, decision });
  }
  await rememberAll(db, unchanged);
  const failure = 'a service was not scaled';
  const facts = ({ service: { id } }: (typeof changes)[number]) => ({ serviceId: id });
  const applied = await sweepEach(
    changes,
    { ...deps, atOnce: 1, failure, facts },
    async ({ service, facts, decision }) => ((await apply(deps, service, facts, decision)) ? [service.id] : []),
  );
  if (applied.length > 0) deps.dispatcher.wake();
}

async function apply(
  deps: Deps,
  observed: ObservedService,
  facts: ScalingFacts,
  decision: ScalingDecision,
): Promise<boolean> {
  return deps.db.transaction(async (trx) => {
    const service = await lockObserved(trx, observed);
    if (!service) return false;
    const { plan, replicas: least } = observed;
    const replicas =
      decision.replicas <= least
        ? decision.replicas
        : await affordableReplicas(trx, service, { plan, least, most: decision.replicas });
    const bound = replicas < decision.replicas ? `; the budget of the workspace allows ${replicas}` : '';
    if (replicas === least) {
      await refuse(deps, trx, observed, facts, decision);
      return false;
    }
    if (!(await storeDecision(trx, observed, { replicas, memory: decision.memory }))) return false;
    await say(deps, trx, observed, facts.now, scalingMessage(facts, { ...decision, replicas }, bound));
    await queueRouting(trx, { service, actor: ACTOR });
    deps.log.info({ service: service.id, from: least, to: replicas }, 'scales a service');
    return true;
  });
}

/**
 * Logs, at most once a minute, that the budget allows no further replica. A stored change by 0 records that this was
 * logged.
 */
async function refuse(
  deps: Deps,
  trx: Transaction,
  observed: ObservedService,
  facts: ScalingFacts,
  decision: ScalingDecision,
): Promise<void> {
  const { replicas } = observed;
  const changes = decision.memory.changes.slice(0, -1);
  const said = changes.some(({ by }) => by === 0);
  const memory = { ...decision.memory, changes: said ? changes : [...changes, { at: facts.now, by: 0 }] };
  if (!(await storeDecision(trx, observed, { replicas, memory })) || said) return;
  const wanted = scalingMessage(facts, decision);
  await say(
    deps,
    trx,
    observed,
    facts.now,
    `The budget of the workspace allows no more replicas. Otherwise: ${wanted}`,
  );
}

async function say(
  { logs }: Deps,
  trx: Transaction,
  { id: serviceId, deploymentId }: ObservedService,
  now: number,
  message: string,
): Promise<void> {
  const lines = [platformLine(message, now)];
  await logs.append({ serviceId, deploymentId, source: 'system', lines }, trx);
}
