import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../../../shared/core/database/client.js';
import { AppError } from '../../../shared/core/errors.js';
import type { RunRow } from '../../../shared/runs/model.js';
import { lockSchedule } from '../../../shared/runs/schedule-store.js';
import { cancelOpenRuns, countOpenRuns, findRun } from '../../../shared/runs/store.js';
import type { CommandDeps } from '../../../shared/secrets/command-deps.js';
import type { ServiceRow } from '../../../shared/services/rows.js';
import { lockLiveService } from '../services/lock-live-service.js';

export interface RunInput {
  service: Pick<ServiceRow, 'id'>;
  actor: string;
}

/**
 * Queues a run of a cron service's live release now. Throws hosting_disabled, not_found, service_archived, no_runtime, and
 * conflict if the service is of another kind, is suspended or being deleted, or has `maxConcurrency` runs that have not ended.
 */
export async function queueRun(
  trx: Transaction,
  deps: CommandDeps,
  { service: { id }, actor }: RunInput,
): Promise<RunRow> {
  const service = await lockLiveService(trx, deps, { id, kinds: ['cron'], have: 'runs' });
  const { maxConcurrency, maxRetries, timeoutSeconds } = service.configuration;
  await lockSchedule(trx, id);
  const open = await countOpenRuns(trx, id);
  if (open >= maxConcurrency) {
    throw new AppError(
      'conflict',
      `${open} run(s) have not ended, as many as maxConcurrency allows; cancel one or wait for its end`,
    );
  }
  const now = new Date();
  const [row] = await trx<RunRow>('runs')
    .insert({
      id: uuidv7(),
      workspace_id: service.workspace_id,
      service_id: id,
      deployment_id: service.live_deployment_id,
      trigger: 'manual',
      actor,
      max_retries: maxRetries,
      timeout_seconds: timeoutSeconds,
      scheduled_at: now,
    })
    .returning('*');
  if (!row) throw new Error('the run was not stored');
  return row;
}

/** Requests the cancellation of a run. Throws not_found, and conflict if it has ended. */
export async function requestRunCancel(
  trx: Transaction,
  { serviceId, runId }: { serviceId: string; runId: string },
): Promise<void> {
  if ((await cancelOpenRuns(trx, { serviceId, runId })) > 0) return;
  const run = await findRun(trx, serviceId, runId);
  if (!run) throw new AppError('not_found');
  throw new AppError('conflict', `The run cannot be cancelled any more: it is ${run.status}`);
}
