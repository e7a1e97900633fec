import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../../../shared/core/database/database-client.js';
import { AppError, invalidRequest } from '../../../shared/core/error-registry.js';
import { assertNotRestoring } from '../../../shared/operations/commands.js';
import { MAX_COMMAND_LENGTH, type RunRow } from '../../../shared/runs/model.js';
import { lockSchedule } from '../../../shared/runs/schedule-store.js';
import { cancelOpenRuns, countOpenRuns, findRun } from '../../../shared/runs/store.js';
import type { CommandDeps } from '../../../shared/secrets/command-deps.js';
import { DEFAULT_CONFIGURATION } from '../../../shared/services/configuration.js';
import type { ServiceKind } from '../../../shared/services/model.js';
import type { ServiceRow } from '../../../shared/services/rows.js';
import { assertVariablesPermitted } from '../../../shared/variables/snapshots.js';
import { assertWithinBudget } from '../../../shared/workspaces/workspace-limits.js';
import type { WriteRequest } from '../../http/route.js';
import { lockLiveService } from '../services/lock-live-service.js';
import { shellWords } from '../shell-words.js';
import type { RunInput } from './schema.js';

interface QueueRunInput {
  service: Pick<ServiceRow, 'id' | 'kind'>;
  actor: string;
  body: RunInput;
  authorize: WriteRequest['authorize'];
}

const KINDS: readonly ServiceKind[] = ['web', 'private', 'worker', 'cron'];
/** Maximum number of a service's unfinished runs with a command that a user entered. */
const MAX_GIVEN = 20;

/**
 * Queues a run in the live release. Throws invalid_request if services of this kind have no runs or if the command is
 * missing. Throws conflict if the service has too many unfinished runs or is being restored. Also throws
 * billing_required, and the errors of `lockLiveService` and of `authorize`.
 */
export async function queueRun(
  trx: Transaction,
  deps: CommandDeps,
  { service: { id, kind }, actor, body, authorize }: QueueRunInput,
): Promise<RunRow> {
  if (!KINDS.includes(kind)) {
    throw new AppError('invalid_request', `A service of kind ${kind} runs no commands; only ${KINDS.join(', ')} do`);
  }
  const command = body.command === undefined ? null : commandLine(body.command);
  if (command === null && kind !== 'cron')
    throw invalidRequest('/command', `is required for a service of kind ${kind}`);
  const service = await lockLiveService(trx, deps, { id, kinds: KINDS, have: 'runs' });
  const { configuration } = service;
  if (body.plan !== undefined) await assertWithinBudget(trx, service, { plan: body.plan, replicas: 1 });
  // A command that a user entered can print the variables of the release, so the user must be permitted to use them.
  if (command !== null) await assertVariablesPermitted(trx, service.live_deployment_id, authorize);
  await assertRoomForRun(trx, service, command !== null);
  await assertNotRestoring(trx, id);
  const now = new Date();
  const [row] = await trx<RunRow>('runs')
    .insert({
      id: uuidv7(),
      workspace_id: service.workspace_id,
      service_id: id,
      deployment_id: service.live_deployment_id,
      trigger: 'manual',
      actor,
      command,
      plan: body.plan ?? null,
      max_retries: command === null ? configuration.maxRetries : 0,
      timeout_seconds: body.timeoutSeconds ?? (kind === 'cron' ? configuration : DEFAULT_CONFIGURATION).timeoutSeconds,
      scheduled_at: now,
    })
    .returning('*');
  if (!row) throw new Error('the run was not stored');
  return row;
}

/**
 * Throws conflict for too many unfinished runs. Runs whose command a user entered (`isGiven`) and a cron's own runs are
 * counted separately.
 */
async function assertRoomForRun(trx: Transaction, { id, configuration }: ServiceRow, isGiven: boolean): Promise<void> {
  await lockSchedule(trx, id);
  const open = await countOpenRuns(trx, id, isGiven ? 'given' : 'own');
  const [most, limit] = isGiven
    ? [MAX_GIVEN, 'a service may have at a time']
    : [configuration.maxConcurrency, 'maxConcurrency allows'];
  if (open < most) return;
  throw new AppError('conflict', `${open} run(s) have not ended, as many as ${limit}; cancel one or wait for its end`);
}

function commandLine(command: string | readonly string[]): string {
  if (typeof command === 'string') return command;
  const line = shellWords(command);
  if (line.length <= MAX_COMMAND_LENGTH) return line;
  throw invalidRequest('/command', `is longer than ${MAX_COMMAND_LENGTH} characters`);
}

/** Requests the cancellation of a run. Throws not_found, and conflict if the run is already finished. */
export async function requestRunCancel(
  trx: Transaction,
  { serviceId, runId }: { serviceId: string; runId: string },
): Promise<void> {
  if ((await cancelOpenRuns(trx, { serviceId, runId })) > 0) return;
  const run = await findRun(trx, serviceId, runId);
  if (!run) throw new AppError('not_found');
  throw new AppError('conflict', `The run cannot be cancelled any more: it is ${run.status}`);
}
