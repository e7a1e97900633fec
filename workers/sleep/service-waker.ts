import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '../../shared/core/database/database-client.js';
import { CHANNELS } from '../../shared/core/database/listener.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import type { Logger } from '../../shared/core/log.js';
import { platformLine } from '../../shared/logs/model.js';
import { queueRouting } from '../../shared/operations/commands.js';
import { insertLogBatches } from '../logs/batch-store.js';
import { wakeService } from './visit-store.js';

const ACTOR = 'a visitor';
/** One try each second. The edge holds a request for 30 s, so a later try would be too late. */
const TRIES = 30;
const RETRY_MS = 1_000;

/**
 * Returns a function that wakes a service for a held request. Tries again if an error occurs, for example while
 * PostgreSQL is away.
 */
export function serviceWaker(db: Db, log: Logger): (serviceId: string) => void {
  // Further requests of a service that is being woken cause no further work.
  const waking = new Set<string>();
  const keepTrying = async (serviceId: string) => {
    for (let attempt = 1; attempt <= TRIES; attempt++) {
      try {
        return await queueWaking(db, serviceId);
      } catch (error) {
        if (attempt === 1) log.warn({ serviceId }, `a service was not woken: ${errorMessage(error)}`);
        await delay(RETRY_MS, undefined, { ref: false });
      }
    }
  };
  return (serviceId) => {
    if (waking.has(serviceId)) return;
    waking.add(serviceId);
    void keepTrying(serviceId).finally(() => waking.delete(serviceId));
  };
}

async function queueWaking(db: Db, serviceId: string): Promise<void> {
  await db.transaction(async (trx) => {
    const service = await wakeService(trx, serviceId);
    if (service === undefined) return;
    if (service.ended) await queueRouting(trx, { service, actor: ACTOR });
    const message = `A request wakes the service, which slept for ${Math.round(service.sleptMs / 1000)} s`;
    const lines = [platformLine(message, Date.now())];
    await insertLogBatches(trx, [{ serviceId, deploymentId: service.live_deployment_id, source: 'system', lines }]);
    await trx.raw('select pg_notify(?, ?)', [CHANNELS.work, '']);
  });
}
