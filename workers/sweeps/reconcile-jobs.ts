import { OPERATION_QUEUES } from '../../shared/commands/queue-operation.js';
import { countDispatch, findAbandonedDeployments, findAbandonedOperations } from '../../shared/db/abandoned.js';
import { findWaitingBatches } from '../../shared/db/log-batches.js';
import type { Payloads, QueueName } from '../../shared/queues/catalog.js';
import type { Engine } from '../../shared/queues/engine.js';
import { enqueue } from '../../shared/queues/enqueue.js';
import type { WorkshopDeps } from '../deploy/deps.js';

/** A record that has been touched more recently may be on its way through the outbox. */
const IDLE_SECONDS = 5;

interface Abandoned<N extends QueueName = QueueName> {
  table: 'deployments' | 'operations' | 'log_batches';
  queue: N;
  id: string;
  dispatches: number;
  payload: Payloads[N];
}

/**
 * Gives every open record that has no job a new one: after Redis was flushed, a job was removed by hand, or its tries
 * were used up. Returns what it mended, for the log and the metrics.
 */
export async function reconcileJobs(deps: WorkshopDeps, engine: Engine): Promise<string[]> {
  const mended: string[] = [];
  for (const record of await abandonedRecords(deps)) {
    if (await engine.isPending(record.queue, record.id, record.dispatches)) continue;
    const dispatch = await deps.db.transaction(async (trx) => {
      const next = await countDispatch(trx, record.table, record.id, record.dispatches);
      if (next !== undefined) {
        await enqueue(trx, { queue: record.queue, recordId: record.id, dispatch: next, payload: record.payload });
      }
      return next;
    });
    if (dispatch !== undefined) mended.push(`${record.queue} ${record.id} (dispatch ${dispatch})`);
  }
  if (mended.length > 0) await deps.dispatcher.dispatch();
  return mended;
}

async function abandonedRecords({ db }: WorkshopDeps): Promise<Abandoned[]> {
  const deployments = await findAbandonedDeployments(db, IDLE_SECONDS);
  const operations = await findAbandonedOperations(db, IDLE_SECONDS);
  const batches = await findWaitingBatches(db, IDLE_SECONDS);
  return [
    ...deployments.map(({ id, dispatches }) => ({
      table: 'deployments' as const,
      queue: 'deploy' as const,
      id,
      dispatches,
      payload: { deploymentId: id },
    })),
    ...operations.map(({ id, kind, dispatches }) => ({
      table: 'operations' as const,
      queue: OPERATION_QUEUES[kind],
      id,
      dispatches,
      payload: { operationId: id },
    })),
    ...batches.map(({ id, dispatches }) => ({
      table: 'log_batches' as const,
      queue: 'log-ingest' as const,
      id,
      dispatches,
      payload: { batchId: id },
    })),
  ];
}
