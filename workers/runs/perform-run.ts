import { valuesOf } from '../../shared/core/database/database-client.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import type { Payloads } from '../../shared/queues/work-catalog.js';
import { RUNS } from '../../shared/runs/kind.js';
import { decideRun, type RunDecision, type RunRow } from '../../shared/runs/model.js';
import { retrySql } from '../../shared/runs/store.js';
import { planOf } from '../../shared/services/plan-catalog.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import { type Handler, type Outcome, perform } from '../engine/perform-record.js';
import { ReleaseError } from '../failures/explained-errors.js';
import { ingestLogs } from '../logs/ingest-batches.js';
import { loadReleaseSpec } from '../releases/release-spec.js';
import { findAttempt, stopAttempts } from '../replicas/attempt-store.js';
import { commandMessage, SEARCHED_LINES } from '../runtime/failure-text.js';
import { maskerOf } from '../runtime/retained-release.js';
import type { ReleaseSpec } from '../runtime/runtime-driver.js';
import type { JobDeps } from '../worker-deps.js';

/** A run whose image this worker lacks is tried again after this time, by any worker. */
const ELSEWHERE_MS = 1_000;

/** Performs one run, or continues one whose worker died. */
export function runJob(deps: JobDeps, { runId }: Payloads['run'], helpers: JobHelpers): Promise<string> {
  return perform(deps, runHandler(deps), runId, helpers).finally(() => deps.dispatcher.wake());
}

/** Performs the current attempt of a run. At a shutdown the command continues, and another worker waits for its end. */
export function runHandler(deps: JobDeps): Handler<RunRow> {
  return {
    kind: RUNS,
    onEnd: { exit_code: null },
    onEvent: (trx, { id }) => stopAttempts(trx, id),
    beforeEnd: ({ record }) => stop(deps, record),
    async run({ record: run, signal }) {
      const spec = await loadReleaseSpec(deps.db, deps.keyring, run.deployment_id, run.id);
      const begun = (await findAttempt(deps.db, run.id, run.attempt)) !== null;
      if (!begun && !(await deps.images.has(spec.image))) return leave(deps, run);
      if (!begun)
        await say(deps, run, spec, `Run ${run.id} (${run.trigger}, attempt ${run.attempt}) starts: ${commandOf(spec)}`);
      const outcome = await deps.runtime.runAttempt(spec, attemptOf(run), signal);
      const retries = { attempt: run.attempt, maxRetries: run.max_retries, timeoutSeconds: run.timeout_seconds };
      return conclude(deps, run, spec, decideRun(outcome, retries, deps.config.runRetrySeconds * 1000));
    },
  };
}

function attemptOf({ id, number, attempt, timeout_seconds: seconds }: RunRow) {
  return { runId: id, runNumber: number, attempt, timeoutMs: seconds * 1000 };
}

async function conclude(deps: JobDeps, run: RunRow, spec: ReleaseSpec, decision: RunDecision): Promise<Outcome> {
  const error = decision.error === '' ? '' : maskerOf(spec).mask(await causeOf(deps, run, spec, decision.error));
  // Write to the log first: it must be complete before any reader can see that the run has ended.
  await say(deps, run, spec, sentence(run, decision, error), error === '' ? 'info' : 'error');
  const set = { error, exit_code: decision.exitCode };
  if (decision.type === 'end') return { event: decision.status, set };
  return { event: 'retried', says: 'tried again', set, sql: retrySql(decision.delayMs) };
}

/** Returns the cause of a failed run. For a user's one-off command, adds the last output and advice. */
async function causeOf({ db }: JobDeps, run: RunRow, spec: ReleaseSpec, detail: string): Promise<string> {
  const command = commandOf(spec);
  if (run.command === null) return `the command "${command}" ${detail}`;
  await ingestLogs(db, run.service_id);
  const output = await valuesOf<string>(
    db,
    `select message from log_lines where service_id = ? and run_id = ? and source = 'runtime' order by id desc limit ?`,
    [run.service_id, run.id, SEARCHED_LINES],
  );
  return commandMessage(command, detail, output.reverse(), planOf(spec.configuration.plan).memoryMb);
}

function sentence(run: RunRow, decision: RunDecision, cause: string): string {
  const name = `Run ${run.id}`;
  if (cause === '') return `${name} succeeded`;
  if (decision.type === 'end') return `${name} failed: ${cause}`;
  const next = `attempt ${run.attempt + 1} of ${run.max_retries + 1} starts in ${Math.round(decision.delayMs / 1000)} s`;
  return `${name} failed: ${cause}; ${next}`;
}

/** If the host of an attempt is offline, the run ends anyway. It would block its schedule forever otherwise. */
async function stop(deps: JobDeps, run: RunRow): Promise<void> {
  try {
    await deps.runtime.stopRun(run.id);
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    deps.log.warn({ runId: run.id }, errorMessage(error));
  }
}

/** Leaves the run to a worker that has the image. If no worker has it within the release timeout, the run fails. */
function leave(deps: JobDeps, run: RunRow): Outcome {
  const waited = Date.now() - (run.admitted_at?.getTime() ?? Date.now());
  if (waited >= deps.config.releaseTimeoutSeconds * 1000) {
    throw new ReleaseError('the image of the release is on no host of a worker; deploy the service again');
  }
  return { laterInMs: ELSEWHERE_MS, says: 'left to a worker that has the image' };
}

function commandOf({ image }: ReleaseSpec): string {
  const { shownCommand, startCommand } = image.manifest;
  return shownCommand || startCommand || "the image's own command";
}

function say({ logs }: JobDeps, run: RunRow, spec: ReleaseSpec, message: string, level: 'info' | 'error' = 'info') {
  const { serviceId, deploymentId } = spec;
  return logs.say({ serviceId, deploymentId, runId: run.id, masker: maskerOf(spec) }, message, level);
}
