import type { Db } from '../db/client.js';
import { insertOutbox } from '../db/outbox.js';
import type { QueueName } from './catalog.js';
import type { NewJob } from './engine.js';

/** Writes a job to the outbox, in the caller's transaction. The dispatcher hands it to the engine after the commit. */
export async function enqueue<N extends QueueName>(trx: Db, job: NewJob<N>, delayMs = 0): Promise<void> {
  await insertOutbox(
    trx,
    { queue: job.queue, record_id: job.recordId, dispatch: job.dispatch, payload: { ...job.payload } },
    delayMs,
  );
}
