import { errorMessage } from '../../shared/core/errors.js';
import { makeDue } from '../../shared/engine/due.js';
import { releaseLease } from '../../shared/engine/leases.js';
import { findAttempt } from '../../shared/replicas/attempt-store.js';
import { RUNS } from '../../shared/runs/kind.js';
import { decideRun, type RunDecision, type RunEnd, type RunRow } from '../../shared/runs/model.js';
import { endRun, retryRun } from '../../shared/runs/store.js';
import { loadReleaseSpec } from '../deploy/release-spec.js';
import { causeOf, failureOf } from '../failures.js';
import type { JobHelpers } from '../handlers/job-helpers.js';
import { Interrupted } from '../interrupted.js';
import { maskerOf } from '../runtime/retained-release.js';
import { ReleaseError, type ReleaseSpec } from '../runtime/runtime-driver.js';
import type { JobDeps } from '../worker-deps.js';

/** A worker that does not have the image leaves the run to another one, after this time in milliseconds. */
const ELSEWHERE_MS = 1_000;

/**
 * Carries out the current attempt of a claimed run and records what follows. Returns that in a word. Throws
 * `Interrupted('shutdown')` for a run that another worker should go on with, and a fault of the platform, which leaves it open.
 */
export async function performRun(
  deps: JobDeps,
  run: RunRow,
  signal: AbortSignal,
  helpers: JobHelpers,
): Promise<string> {
  try {
    if (run.cancel_requested_at !== null) throw new Interrupted('cancelled');
    const spec = await loadReleaseSpec(deps.db, deps.keyring, run.deployment_id);
    const begun = (await findAttempt(deps.db, run.id, run.attempt)) !== null;
    if (!begun && !(await deps.images.has(spec.image))) return await leave(deps, run);
    if (!begun)
      await say(deps, spec, `Run ${run.id} (${run.trigger}, attempt ${run.attempt}) starts: ${commandOf(spec)}`);
    const outcome = await deps.runtime.runAttempt(spec, attemptOf(run), signal);
    const retries = { attempt: run.attempt, maxRetries: run.max_retries, timeoutSeconds: run.timeout_seconds };
    return await conclude(deps, run, spec, decideRun(outcome, retries, deps.config.runRetrySeconds * 1000));
  } catch (error) {
    return await endEarly(deps, run, error, signal, helpers);
  }
}

function attemptOf({ id, number, attempt, timeout_seconds: seconds }: RunRow) {
  return { runId: id, runNumber: number, attempt, timeoutMs: seconds * 1000 };
}

async function conclude(deps: JobDeps, run: RunRow, spec: ReleaseSpec, decision: RunDecision): Promise<string> {
  const cause = decision.error === '' ? '' : maskerOf(spec).mask(`the command "${commandOf(spec)}" ${decision.error}`);
  // The log is complete before anybody can see the run as ended.
  await say(deps, spec, sentence(run, decision, cause), decision.error === '' ? 'info' : 'error');
  if (decision.type === 'end') {
    await endRun(deps.db, run, { ...decision, error: cause });
    return decision.status;
  }
  if (await retryRun(deps.db, run, { ...decision, error: cause })) return 'tried again';
  return await cancel(deps, run);
}

function sentence(run: RunRow, decision: RunDecision, cause: string): string {
  const name = `Run ${run.id}`;
  if (cause === '') return `${name} succeeded`;
  if (decision.type === 'end') return `${name} failed: ${cause}`;
  const next = `attempt ${run.attempt + 1} of ${run.max_retries + 1} starts in ${Math.round(decision.delayMs / 1000)} s`;
  return `${name} failed: ${cause}; ${next}`;
}

/** Ends a run whose cancellation was requested, after everything of it has ended. */
async function cancel(deps: JobDeps, run: RunRow): Promise<string> {
  await stop(deps, run);
  return end(deps, run, 'cancelled', '');
}

/**
 * Ends what runs of a run. A host that is away cannot confirm it: the run ends nevertheless, else it would keep its schedule from
 * running for good. The host ends what it still runs as soon as it is back.
 */
async function stop(deps: JobDeps, run: RunRow): Promise<void> {
  try {
    await deps.runtime.stopRun(run.id);
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    deps.log.warn({ runId: run.id }, errorMessage(error));
  }
}

async function end(deps: JobDeps, run: RunRow, status: RunEnd, error: string): Promise<string> {
  return (await endRun(deps.db, run, { status, exitCode: null, error })) ? status : 'superseded';
}

async function endEarly(
  deps: JobDeps,
  run: RunRow,
  error: unknown,
  signal: AbortSignal,
  helpers: JobHelpers,
): Promise<string> {
  const failure = failureOf(error, signal);
  if (failure.type === 'interrupted') {
    if (failure.why === 'superseded') return 'superseded';
    if (failure.why === 'cancelled') return cancel(deps, run);
    // The command runs on, and another worker waits for its end.
    await releaseLease(deps.db, RUNS, run);
    throw new Interrupted('shutdown');
  }
  if (failure.type === 'platformFault' && !helpers.lastAttempt) {
    await releaseLease(deps.db, RUNS, run);
    throw failure.error;
  }
  await stop(deps, run);
  return end(deps, run, 'failed', causeOf(failure));
}

/** The image is not on this host. If no worker has it within the time that a release may take, the run fails. */
async function leave(deps: JobDeps, run: RunRow): Promise<string> {
  const waited = Date.now() - (run.admitted_at?.getTime() ?? Date.now());
  if (waited >= deps.config.releaseTimeoutSeconds * 1000) {
    throw new ReleaseError('the image of the release is on no host of a worker; deploy the service again');
  }
  await releaseLease(deps.db, RUNS, run);
  await makeDue(deps.db, RUNS, run, ELSEWHERE_MS);
  return 'left to a worker that has the image';
}

function commandOf({ image }: ReleaseSpec): string {
  const { shownCommand, startCommand } = image.manifest;
  return shownCommand || startCommand || "the image's own command";
}

async function say(deps: JobDeps, spec: ReleaseSpec, message: string, level: 'info' | 'error' = 'info') {
  const { serviceId, deploymentId } = spec;
  const channel = deps.logs.open({ serviceId, deploymentId, masker: maskerOf(spec) });
  await channel.write('system', message, level);
  await channel.close();
}
