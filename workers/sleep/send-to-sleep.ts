import { platformLine } from '../../shared/logs/model.js';
import { queueRouting } from '../../shared/operations/commands.js';
import { thawReplicas } from '../../shared/services/thaw.js';
import { sweepEach } from '../core/sweep-each.js';
import type { JobDeps } from '../worker-deps.js';
import { decideSleep, sleepMessage } from './decide-sleep.js';
import { freezeReplicas, lockSleeper, markEnded, sleepFacts } from './visit-store.js';

const ACTOR = 'automatic scaling';

/** Freezes web services that had no visitor for SLEEP_SECONDS, and stops them FROZEN_SECONDS later. */
export async function sendToSleep(deps: Pick<JobDeps, 'db' | 'config' | 'logs' | 'dispatcher' | 'log'>): Promise<void> {
  const { db, config, logs, dispatcher } = deps;
  const times = {
    // Edges report visitors only every METRICS_SECONDS, so a shorter time may miss a visitor.
    quiet: Math.max(config.sleepSeconds, 2 * config.metricsSeconds),
    // Only this platform's own sandboxes can be frozen.
    frozen: config.runtime === 'process' ? config.frozenSeconds : 0,
  };
  const failure = 'a service did not fall asleep';
  const facts = ({ id }: { id: string }) => ({ serviceId: id });
  const due = (await sleepFacts(db)).filter((service) => decideSleep(service, times) !== null);
  const acted = await sweepEach(due, { ...deps, atOnce: 4, failure, facts }, (found) =>
    db.transaction(async (trx) => {
      const service = await lockSleeper(trx, found);
      const action = service && decideSleep(service, times);
      if (!service || !action) return [];
      const { id, workspace_id, live_deployment_id } = service;
      if (action === 'freeze') await freezeReplicas(trx, service);
      else if (action === 'thaw') await thawReplicas(trx, id);
      else {
        await markEnded(trx, service);
        await queueRouting(trx, { service: { id, workspace_id }, actor: ACTOR });
      }
      const lines = [platformLine(sleepMessage(action, service, times), Date.now())];
      await logs.append({ serviceId: id, deploymentId: live_deployment_id, source: 'system', lines }, trx);
      return [id];
    }),
  );
  if (acted.length > 0) dispatcher.wake();
}
