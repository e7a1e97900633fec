import { admitDeployments, explainUnreachable, explainWaiting } from '../db/admission.js';
import type { Db, Transaction } from '../db/client.js';
import { type OutboxEntry, takeOutbox } from '../db/outbox.js';
import { errorMessage } from '../errors.js';
import type { Logger } from '../log.js';
import type { Payloads, QueueName } from './catalog.js';
import type { Engine, NewJob } from './engine.js';
import { enqueue } from './enqueue.js';

const BATCH = 200;

/**
 * Hands work to the queue engine after the commit that asked for it: admits deployments, then moves the outbox into the
 * queues. Runs in every process; what one leaves behind (a crash, an outage) the sweep's run picks up.
 */
export class Dispatcher {
  readonly #db: Db;
  readonly #engine: Engine;
  readonly #log: Logger;
  #running: Promise<void> | null = null;
  #again = false;

  constructor(db: Db, engine: Engine, log: Logger) {
    this.#db = db;
    this.#engine = engine;
    this.#log = log;
  }

  /** Dispatches soon, in the background; calls during a run are one further run. */
  wake(): void {
    if (this.#running) {
      this.#again = true;
      return;
    }
    this.#running = this.dispatch()
      .catch((error) => this.#log.warn(`dispatching failed, the sweep will try again: ${errorMessage(error)}`))
      .finally(() => {
        this.#running = null;
        if (!this.#again) return;
        this.#again = false;
        this.wake();
      });
  }

  /** Admits and hands over everything that is due. Throws where the database or the engine is away. */
  async dispatch(): Promise<void> {
    await this.#db.transaction(admit);
    try {
      while ((await this.#flush()) === BATCH);
    } catch (error) {
      await explainUnreachable(this.#db);
      throw error;
    }
  }

  /** Waits for a run in progress. */
  async close(): Promise<void> {
    this.#again = false;
    await this.#running;
  }

  /**
   * The jobs are added before the transaction that takes the entries commits: a crash between leaves the entries, and
   * adding an id twice is harmless.
   */
  async #flush(): Promise<number> {
    return this.#db.transaction(async (trx) => {
      const entries = await takeOutbox(trx, BATCH);
      if (entries.length > 0) await this.#engine.add(entries.map(toJob));
      return entries.length;
    });
  }
}

async function admit(trx: Transaction): Promise<void> {
  for (const { id } of await admitDeployments(trx)) {
    await enqueue(trx, { queue: 'deploy', recordId: id, dispatch: 1, payload: { deploymentId: id } });
  }
  await explainWaiting(trx);
}

function toJob(entry: OutboxEntry): NewJob {
  const queue = entry.queue as QueueName;
  return {
    queue,
    recordId: entry.record_id,
    dispatch: entry.dispatch,
    payload: entry.payload as unknown as Payloads[QueueName],
  };
}
