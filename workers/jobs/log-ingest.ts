import { ingestLogs, serviceOfBatch } from '../../shared/db/log-batches.js';
import type { Payloads } from '../../shared/queues/catalog.js';
import type { WorkshopDeps } from '../deploy/deps.js';

/** Queue `log-ingest`: gives waiting lines their ids (specification, Logs). */
export async function logIngestJob(deps: WorkshopDeps, { batchId }: Payloads['log-ingest']): Promise<string> {
  const serviceId = await serviceOfBatch(deps.db, batchId);
  // Batches are taken in order, so an earlier job may have stored this one already.
  if (!serviceId) return 'stored already';
  return `${await ingestLogs(deps.db, serviceId)} lines`;
}
