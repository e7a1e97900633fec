import type { Payloads } from '../../shared/queues/work-catalog.js';
import type { JobDeps } from '../worker-deps.js';
import { serviceOfBatch } from './batch-store.js';
import { ingestTurn } from './ingest-batches.js';

/** Moves waiting lines of a service into its log for one turn (specification, Logs). */
export async function logIngestJob({ db, log, logs }: JobDeps, { batchId }: Payloads['log-ingest']): Promise<string> {
  const serviceId = await serviceOfBatch(db, batchId);
  // Batches are processed in order, so the job of another batch may already have stored this batch.
  if (!serviceId) return 'stored already';
  const { lines, leftOut, more } = await ingestTurn(db, serviceId);
  if (leftOut > 0)
    log.warn({ serviceId, lines: leftOut }, 'lines of a service could not be stored and are left out of its log');
  if (more) await logs.announceRest(serviceId);
  return `${lines} lines${more ? ', more wait' : ''}`;
}
