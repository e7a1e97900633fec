import { claimDeployment, endDeployment, getDeployment, releaseClaim } from '../../shared/db/deployments.js';
import type { DeploymentRow } from '../../shared/db/rows.js';
import { getService } from '../../shared/db/service-lifecycle.js';
import { isTerminal, type StepName, stepOf } from '../../shared/domain/deployment.js';
import { credentialsOf } from '../../shared/domain/source.js';
import { AppError, errorMessage } from '../../shared/errors.js';
import { SealError } from '../../shared/secrets/keyring.js';
import { Masker } from '../../shared/secrets/mask.js';
import { BuildError } from '../builders/builder.js';
import { Interrupted, JobFailed } from '../interrupted.js';
import type { JobHelpers } from '../jobs/helpers.js';
import { ReleaseError } from '../runtime/driver.js';
import { SourceError } from '../sources/source.js';
import { ClaimWatch, LEASE_SECONDS } from './claim-watch.js';
import type { WorkshopDeps } from './deps.js';
import { openRepository, openVariables } from './release-spec.js';
import { DeploymentRun } from './run.js';
import { build } from './steps/build.js';
import { queued } from './steps/queued.js';
import { release } from './steps/release.js';

const STEPS: Record<StepName, (run: DeploymentRun) => Promise<void>> = { queued, build, release };

/** A step that this many workers began and none ended is not tried again: it may be what ends them. */
const MAX_TAKEOVERS = 20;

/** Failures with a cause that the person who deployed can act on; anything else is ours, and is tried again. */
const EXPLAINED = [SourceError, BuildError, ReleaseError, SealError, AppError];

/**
 * Runs a deployment from the step it is in to its end. Returns how it ended, or undefined where there was nothing to do.
 * Throws `JobFailed` for a recorded failure, `Interrupted('shutdown')` for one that another worker should go on with,
 * and anything else for a fault of the platform, which leaves the deployment open.
 */
export async function runDeployment(
  deps: WorkshopDeps,
  deploymentId: string,
  helpers: JobHelpers,
): Promise<string | undefined> {
  const deployment = await claimDeployment(deps.db, deploymentId, deps.workerId, LEASE_SECONDS);
  if (!deployment) return undefined;
  const log = helpers.log.child({ deploymentId, fence: deployment.fence });
  const watch = new ClaimWatch(deps.db, deps.listener, { id: deployment.id, fence: deployment.fence }, log);
  try {
    const run = await openRun(deps, deployment, AbortSignal.any([watch.signal, helpers.signal]));
    if (deployment.takeovers > MAX_TAKEOVERS && !run.routeSwitched) return await giveUp(run, helpers);
    return await runSteps(run, helpers);
  } finally {
    watch.stop();
    deps.dispatcher.wake();
  }
}

async function openRun(deps: WorkshopDeps, deployment: DeploymentRow, signal: AbortSignal): Promise<DeploymentRun> {
  const service = await getService(deps.db, deployment.service_id);
  if (!service) throw new AppError('not_found', `service ${deployment.service_id} does not exist`);
  const { variables, repository } = await openOrFail(deps, deployment);
  const masker = new Masker([...Object.values(variables), ...credentialsOf(repository)]);
  const channel = deps.logs.open({ serviceId: service.id, deploymentId: deployment.id, masker });
  const opened = { ...deployment, configuration: { ...deployment.configuration, repository } };
  return new DeploymentRun({ deps, deployment: opened, service, variables, signal, channel });
}

/** A snapshot that does not open fails the deployment at once: no later try could do better. */
async function openOrFail(deps: WorkshopDeps, deployment: DeploymentRow) {
  const { keyring } = deps;
  try {
    return { variables: openVariables(keyring, deployment), repository: openRepository(keyring, deployment) };
  } catch (error) {
    const message = `${stepOfOpen(deployment)}: what this deployment was queued with cannot be opened: ${errorMessage(error)}`;
    await endDeployment(deps.db, { id: deployment.id, fence: deployment.fence }, 'failed', message);
    throw new JobFailed(message);
  }
}

function stepOfOpen({ status }: DeploymentRow): StepName {
  return isTerminal(status) ? 'queued' : stepOf(status);
}

async function runSteps(run: DeploymentRun, helpers: JobHelpers): Promise<string> {
  for (;;) {
    const { status } = run.deployment;
    if (isTerminal(status)) return status;
    const step = stepOf(status);
    try {
      run.signal.throwIfAborted();
      // It may have been asked for while nobody held the deployment, and a step can fail sooner than the watch looks.
      if (run.deployment.cancel_requested_at !== null) throw new Interrupted('cancelled');
      await helpers.report(`${step}: begins (fence ${run.deployment.fence})`);
      await STEPS[step](run);
      await helpers.report(`${step}: done`);
      if (step === 'release' && run.deployment.status === 'releasing') return 'live';
    } catch (error) {
      return await endRun(run, step, error, helpers);
    }
  }
}

/** Puts a run that did not go live to its end. */
async function endRun(run: DeploymentRun, step: StepName, error: unknown, helpers: JobHelpers): Promise<string> {
  const cause = run.signal.aborted && run.signal.reason instanceof Interrupted ? run.signal.reason : error;
  if (cause instanceof Interrupted) return interrupt(run, cause);
  // Where the route has moved the release serves: there is nothing to fail, only the end to be written by a later try.
  if (run.routeSwitched || (!isExplained(cause) && !helpers.lastAttempt)) {
    if (helpers.firstAttempt) {
      await run.say(`${step}: a fault of the platform, which is tried again: ${errorMessage(cause)}`, 'warn');
    }
    await run.channel.close();
    await releaseClaim(run.deps.db, run.claim);
    throw masked(cause, run);
  }
  const message = isExplained(cause) ? errorMessage(cause) : `internal error: ${errorMessage(cause)}`;
  return conclude(run, 'failed', `${step}: ${message}`, helpers);
}

async function interrupt(run: DeploymentRun, cause: Interrupted): Promise<string> {
  const { deps, claim } = run;
  if (cause.why === 'cancelled') return conclude(run, 'cancelled', '');
  if (cause.why === 'superseded') {
    // Going live can also be lost to a cancellation that came in the last moment.
    const current = await getDeployment(deps.db, claim.id);
    const ours = current?.fence === claim.fence && !isTerminal(current.status) && current.went_live_at === null;
    if (ours) return conclude(run, 'cancelled', '');
    await run.channel.close();
    return 'superseded';
  }
  await run.say('The worker is shutting down; another one goes on');
  await run.channel.close();
  await releaseClaim(deps.db, claim);
  throw cause;
}

/** Fails a deployment whose workers die again and again, before it takes the next one. */
async function giveUp(run: DeploymentRun, helpers: JobHelpers): Promise<string> {
  const times = `${run.deployment.takeovers} workers took this step and none came to its end`;
  const advice = 'each of them died or hung; look at the log of the workers, then deploy again';
  return conclude(run, 'failed', `${stepOfOpen(run.deployment)}: ${times}: ${advice}`, helpers);
}

/** Nothing of the release runs any more and its log is whole before the deployment is seen as ended. */
async function conclude(
  run: DeploymentRun,
  status: 'failed' | 'cancelled',
  error: string,
  helpers?: JobHelpers,
): Promise<string> {
  const { deps, claim } = run;
  await deps.runtime.stop(claim.id);
  await run.say(
    status === 'failed' ? `The deployment failed at ${error}` : 'The deployment was cancelled',
    status === 'failed' ? 'error' : 'warn',
  );
  await run.channel.close();
  const shown = run.channel.mask(error);
  const ended = await endDeployment(deps.db, claim, status, shown);
  if (ended === 'failed') {
    await helpers?.report(shown);
    throw new JobFailed(shown);
  }
  return ended ?? 'superseded';
}

/** A fault of the platform is shown to operators, who need not know a customer's secrets. */
function masked(fault: unknown, { channel }: DeploymentRun): Error {
  const error = new Error(channel.mask(errorMessage(fault)));
  if (fault instanceof Error && fault.stack !== undefined) error.stack = channel.mask(fault.stack);
  return error;
}

function isExplained(error: unknown): boolean {
  return EXPLAINED.some((kind) => error instanceof kind);
}
