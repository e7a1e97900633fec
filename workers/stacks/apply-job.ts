import type { Transaction } from '../../shared/core/database/database-client.js';
import { AppError, errorMessage } from '../../shared/core/error-registry.js';
import { cancelOpenDeployments } from '../../shared/deployments/store.js';
import type { Payloads } from '../../shared/queues/work-catalog.js';
import { openFrom, SEALED } from '../../shared/secrets/sealed-columns.js';
import { STACK_APPLIES } from '../../shared/stacks/kind.js';
import type { ApplyRow, Step, StepRow } from '../../shared/stacks/model.js';
import {
  type ApplyDeployment,
  failStep,
  findNextStep,
  finishStep,
  getStack,
  listApplyDeployments,
  listApplyRestores,
  lockNextStep,
} from '../../shared/stacks/store.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import { type Handler, type Outcome, perform } from '../engine/perform-record.js';
import { ExplainedError } from '../failures/explained-errors.js';
import { nothingWentLive, settleTogether } from '../together/settle-together.js';
import type { JobDeps } from '../worker-deps.js';
import { performStep } from './perform-step.js';

const POLL_INTERVAL_MS = 1_000;

class ApplyError extends ExplainedError {}

/** Steps that are performed after the deployments are live, so that nothing is deleted that still gets requests. */
const AFTER_DEPLOYMENTS: ReadonlySet<Step['op']> = new Set(['service.delete', 'group.delete', 'stack.delete']);

/** Handles the queue `stack-apply`. */
export function applyJob(deps: JobDeps, { applyId }: Payloads['stack-apply'], helpers: JobHelpers): Promise<string> {
  return perform<ApplyRow>(deps, applyHandler(deps), applyId, helpers);
}

/** One transaction makes a step's change and records the step as done, so that each step is done only once. */
function applyHandler(deps: JobDeps): Handler<ApplyRow> {
  const { db, keyring } = deps;
  let steps: readonly Step[] | undefined;
  let refused: StepRow | undefined;

  function stepsOf({ id, sealed_steps }: ApplyRow): readonly Step[] {
    if (sealed_steps === null) throw new ApplyError('the steps of the apply were erased');
    steps ??= JSON.parse(openFrom(keyring, SEALED.stackSteps, id, sealed_steps)) as Step[];
    return steps;
  }

  async function doNextStep(trx: Transaction, apply: ApplyRow): Promise<void> {
    const row = await lockNextStep(trx, apply.id);
    const stack = await getStack(trx, apply.stack_id);
    const step = row && stepsOf(apply)[row.position];
    if (row === undefined || step === undefined) throw new Error(`the apply ${apply.id} has no such step`);
    if (stack === undefined) throw new ApplyError('the stack was deleted');
    try {
      await finishStep(trx, row, await performStep(trx, { deps, apply, stack }, step));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      refused = row;
      throw new ApplyError(`${row.op} ${row.name}: ${reasonOf(error)}`);
    }
  }

  return {
    kind: STACK_APPLIES,
    async run({ record: apply, helpers }) {
      // The previous step may have stored a record, such as a deployment, that the dispatcher must put into a queue.
      deps.dispatcher.wake();
      const next = await findNextStep(db, apply.id);
      if (next === undefined || next.op === 'service.deploy') {
        const outcome = await lookAtRestores(deps, apply);
        if (outcome !== null) return outcome;
      }
      if (next === undefined || AFTER_DEPLOYMENTS.has(next.op)) {
        const outcome = await lookAtDeployments(deps, apply);
        if (outcome !== null) return outcome;
      }
      if (next === undefined) return { event: 'succeeded' };
      helpers.report(`${next.op} ${next.name}`);
      return { event: 'stepped' };
    },
    async onEvent(trx, apply) {
      if (apply.status === 'running') await doNextStep(trx, apply);
    },
    async beforeEnd({ record }, { state, cause }) {
      if (state === 'failed' && refused !== undefined) await failStep(db, refused, cause);
      if (state === 'cancelled') await cancelDeployments(deps, record);
    },
  };
}

function reasonOf(error: AppError): string {
  return [errorMessage(error), ...(error.details ?? []).map(({ path, message }) => `${path} ${message}`)].join('; ');
}

/**
 * Returns null if all restores have succeeded, and when to look again while some have not ended. Throws `ApplyError` if
 * all have ended and some failed.
 */
async function lookAtRestores({ db }: JobDeps, { id }: ApplyRow): Promise<Outcome | null> {
  const restores = await listApplyRestores(db, id);
  if (restores.some(({ open }) => open)) return { laterInMs: POLL_INTERVAL_MS, says: 'waits for restores' };
  const failed = restores.filter(({ status }) => status !== 'succeeded');
  if (failed.length === 0) return null;
  const deployments = await listApplyDeployments(db, id);
  const texts = failed.map(({ name, error }) => `the data of ${name} was not restored: ${error}`);
  throw new ApplyError([...failedTexts(deployments), ...texts].join('; '));
}

/**
 * Returns null if all deployments are live, and when to look again while some have not ended. Throws `ApplyError` if
 * all have ended and some are not live.
 */
async function lookAtDeployments(deps: JobDeps, { id, together }: ApplyRow): Promise<Outcome | null> {
  const decision = together ? await settleTogether(deps, id) : null;
  const deployments = await listApplyDeployments(deps.db, id);
  if (deployments.some(({ open }) => open)) return { laterInMs: POLL_INTERVAL_MS, says: 'waits for deployments' };
  const texts = failedTexts(deployments);
  if (texts.length === 0) return null;
  if (decision?.type === 'giveUp') throw new ApplyError(nothingWentLive(decision.reason));
  throw new ApplyError(texts.join('; '));
}

function failedTexts(deployments: readonly ApplyDeployment[]): string[] {
  return deployments
    .filter(({ open, status }) => !open && status !== 'live')
    .map(({ name, status, error }) => `the deployment of ${name} ${status}${error && `: ${error}`}`);
}

async function cancelDeployments({ db }: JobDeps, { id }: ApplyRow): Promise<void> {
  for (const { id: deploymentId, service_id: serviceId, open } of await listApplyDeployments(db, id)) {
    if (open) await db.transaction((trx) => cancelOpenDeployments(trx, { serviceId, deploymentId }));
  }
}
