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
/** How often waking is tried, once a second. The edge holds a request for 30 s, so later tries would be too late. */
const TRIES = 30;
const RETRY_MS = 1_000;

/** Wakes services for the requests that the edge holds. */
export class ServiceWaker {
  readonly #db: Db;
  readonly #log: Logger;
  /** Services that are being woken. Further requests of a service cause no further work. */
  readonly #waking = new Set<string>();

  constructor(db: Db, log: Logger) {
    this.#db = db;
    this.#log = log;
  }

  /**
   * Makes a worker thaw or start a replica of the service, if it sleeps. Tries again while PostgreSQL cannot be
   * reached.
   */
  wake(serviceId: string): void {
    if (this.#waking.has(serviceId)) return;
    this.#waking.add(serviceId);
    void this.#wake(serviceId).finally(() => this.#waking.delete(serviceId));
  }

  async #wake(serviceId: string): Promise<void> {
    for (let attempt = 1; attempt <= TRIES; attempt++) {
      try {
        return await this.#queue(serviceId);
      } catch (error) {
        if (attempt === 1) this.#log.warn({ serviceId }, `a service was not woken: ${errorMessage(error)}`);
        await delay(RETRY_MS, undefined, { ref: false });
      }
    }
  }

  async #queue(serviceId: string): Promise<void> {
    await this.#db.transaction(async (trx) => {
      const service = await wakeService(trx, serviceId);
      if (service === undefined) return;
      if (service.ended) await queueRouting(trx, { service, actor: ACTOR });
      const message = `A request wakes the service, which slept for ${Math.round(service.sleptMs / 1000)} s`;
      const lines = [platformLine(message, Date.now())];
      await insertLogBatches(trx, [{ serviceId, deploymentId: service.live_deployment_id, source: 'system', lines }]);
      await trx.raw('select pg_notify(?, ?)', [CHANNELS.work, '']);
    });
  }
}
