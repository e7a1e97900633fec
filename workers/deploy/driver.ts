import { AppError, errorMessage } from '../../shared/core/errors.js';
import { DEPLOYMENTS } from '../../shared/deployments/kind.js';
import {
  type ActiveState,
  canBeCancelled,
  type DeploymentEvent,
  type DeploymentState,
  isTerminal,
  STEP_OF,
  TRANSITIONS,
} from '../../shared/deployments/model.js';
import { claimDeployment, type DeploymentParts } from '../../shared/deployments/parts-store.js';
import type { LeftBehind } from '../../shared/deployments/release-store.js';
import { getDeployment } from '../../shared/deployments/store.js';
import { applyEvent } from '../../shared/deployments/transitions.js';
import { releaseLease } from '../../shared/engine/leases.js';
import { Masker } from '../../shared/secrets/mask.js';
import { credentialsOf } from '../../shared/services/source.js';
import { openSnapshot } from '../../shared/variables/snapshots.js';
import { type Action, decide } from '../engine/decide.js';
import { type Failure, failureOf } from '../failures.js';
import type { JobHelpers } from '../handlers/job-helpers.js';
import { Interrupted, JobFailed } from '../interrupted.js';
import type { JobDeps } from '../worker-deps.js';
import { DeploymentRun } from './deployment-run.js';
import { openRepository } from './release-spec.js';
import { build } from './steps/build-step.js';
import { queued } from './steps/queued-step.js';
import { confirmEdges, release } from './steps/release-step.js';

/** What runs in each state. A step returns what happened. */
const STEPS: Record<ActiveState, (run: DeploymentRun) => Promise<DeploymentEvent>> = {
  queued,
  building: build,
  releasing: release,
  switched: confirmEdges,
};

/**
 * A step is given up when it is taken over from the second worker that hung or crashed with it. A worker that was killed
 * or stopped from outside proves nothing against a deployment, but it looks the same as one that the system killed for the
 * memory that the deployment cost it. After more of those than an operator's faults bring about, the step is given up too.
 */
const MAX_FAULTS = 2;
const MAX_TAKEOVERS = 8;

export interface Outcome {
  /** False if there was nothing to do: the deployment has ended before, or does not exist. */
  ran: boolean;
  /** The state in which it is now, or why nothing is known of it. */
  status: string;
  /** Null if there is no such deployment. */
  serviceId: string | null;
  /** What earlier releases have left; null if that is not known. */
  left: LeftBehind | null;
}

/**
 * Runs a deployment from the state it is in to its end, and says how it ended.
 * Throws `JobFailed` for a recorded failure, `Interrupted('shutdown')` for one that another worker should go on with,
 * and anything else for a fault of the platform, which leaves the deployment open.
 */
export async function runDeployment(deps: JobDeps, deploymentId: string, helpers: JobHelpers): Promise<Outcome> {
  const { db, faults, workerId } = deps;
  if (!faults.knows(deploymentId)) {
    const parts = await claimDeployment(db, deploymentId, { workerId, faulty: false, suspects: false });
    if (parts) return runClaimed(deps, parts, helpers);
  }
  // A suspect waits for its turn here, and while it waits it must not be held, because a crash of this worker would count
  // against it. Running suspects one at a time shows which one is at fault.
  const before = await getDeployment(db, deploymentId);
  if (!before) return { ran: false, status: 'no such deployment', serviceId: null, left: null };
  const nothing: Outcome = { ran: false, status: before.status, serviceId: before.service_id, left: null };
  if (isTerminal(before.status)) return nothing;
  const faulty = await faults.isNoted(before);
  const run = async () => {
    const parts = await claimDeployment(db, deploymentId, { workerId, faulty, suspects: true });
    if (!parts) return nothing;
    await faults.forget({ id: deploymentId, fence: parts.deployment.fence - 1 });
    return runClaimed(deps, parts, helpers);
  };
  return faulty || before.worker_faults > 0 ? faults.alone(helpers.signal, run) : run();
}

async function runClaimed(deps: JobDeps, parts: DeploymentParts, helpers: JobHelpers): Promise<Outcome> {
  const { deployment } = parts;
  const runEnds = deps.faults.begin(deployment);
  const log = helpers.log.child({ deploymentId: deployment.id, fence: deployment.fence });
  const lease = deps.leases.hold(DEPLOYMENTS, { id: deployment.id, fence: deployment.fence });
  try {
    const run = await openRun(deps, parts, AbortSignal.any([lease.signal, helpers.signal]));
    const status = await drive(run, { ...helpers, log });
    return { ran: true, status, serviceId: deployment.service_id, left: run.facts?.left_behind ?? null };
  } finally {
    lease.stop();
    runEnds();
    deps.dispatcher.wakeAdmission();
  }
}

/** Writes a line for operators. A fault of the dashboard decides nothing, and nothing waits for it. */
function report(helpers: JobHelpers, line: string): void {
  Promise.resolve(line)
    .then((text) => helpers.report(text))
    .catch((error: unknown) => helpers.log.debug({ err: error }, 'a line for the dashboard was not stored'));
}

/** The state machine's driver: one step for each state, one decision for each failure. */
async function drive(run: DeploymentRun, helpers: JobHelpers): Promise<string> {
  for (;;) {
    const state = run.deployment.status;
    if (isTerminal(state)) return state;
    report(helpers, `${state}: begins (fence ${run.deployment.fence})`);
    const failure = await runStep(run, state);
    if (failure === null) continue;
    const action = decide(TRANSITIONS[state], failure, helpers);
    switch (action.type) {
      case 'end':
        return end(run, state, action, helpers);
      case 'handBack':
        return handBack(run, state, action.fault, helpers);
      case 'handOver':
        return handOver(run);
      case 'leave':
        await run.channel.close();
        return 'superseded';
    }
  }
}

/** Runs the step of a state and applies its event. Null if the deployment is in its next state, else what went wrong. */
async function runStep(run: DeploymentRun, state: ActiveState): Promise<Failure | null> {
  const { takeovers, worker_faults: faults, cancel_requested_at: cancelRequestedAt } = run.deployment;
  if (canBeCancelled(state)) {
    // It may have been requested while no worker held the deployment, and a step can fail before the lease is renewed.
    if (cancelRequestedAt !== null) return { type: 'interrupted', why: 'cancelled' };
    if (faults >= MAX_FAULTS || takeovers > MAX_TAKEOVERS) {
      return { type: 'failed', cause: gaveUp(takeovers, faults) };
    }
  }
  try {
    run.signal.throwIfAborted();
    const event = await STEPS[state](run);
    if (await run.apply(state, event)) {
      if (event.type === 'routeSwitched') run.deps.dispatcher.wakeAdmission();
      return null;
    }
    return { type: 'interrupted', why: (await isCancelled(run)) ? 'cancelled' : 'superseded' };
  } catch (error) {
    return failureOf(error, run.signal);
  }
}

function gaveUp(takeovers: number, faults: number): string {
  if (faults >= MAX_FAULTS) {
    return `${faults} workers hung or crashed in this step: it is not given to another one; look at the log of the workers`;
  }
  const times = `${takeovers} workers took this step and none came to its end`;
  return `${times}: each of them died or hung; look at the log of the workers, then deploy again`;
}

/** Ends a deployment. Its release is stopped and its log is complete before anybody can see the end. */
async function end(
  run: DeploymentRun,
  from: ActiveState,
  { state, cause }: Extract<Action, { type: 'end' }>,
  helpers: JobHelpers,
): Promise<string> {
  const error = `${STEP_OF[from]}: ${cause}`;
  await run.deps.runtime.stop(run.lease.id);
  if (state === 'failed') await run.say(`The deployment failed at ${error}`, 'error');
  else await run.say('The deployment was cancelled', 'warn');
  await run.channel.close();
  const shown = run.channel.mask(error);
  if (!(await run.apply(from, state === 'failed' ? { type: 'failed', error: shown } : { type: 'cancelled' }))) {
    return 'superseded';
  }
  const ended: DeploymentState = run.deployment.status;
  if (ended !== 'failed') return ended;
  report(helpers, shown);
  throw new JobFailed(shown);
}

/** Gives the deployment back after a fault of the platform; the queue tries it again. */
async function handBack(run: DeploymentRun, state: ActiveState, fault: unknown, helpers: JobHelpers): Promise<never> {
  if (helpers.firstAttempt) {
    const message = `${STEP_OF[state]}: a fault of the platform, which is tried again: ${errorMessage(fault)}`;
    await run.say(message, 'warn');
  }
  await giveBack(run);
  throw masked(fault, run);
}

/** Gives the deployment back because this worker shuts down. */
async function handOver(run: DeploymentRun): Promise<never> {
  await run.say('The worker is shutting down; another one goes on');
  await giveBack(run);
  throw new Interrupted('shutdown');
}

/** A deployment that was given back does not count as one whose worker died. */
async function giveBack({ channel, deps, lease }: DeploymentRun): Promise<void> {
  await channel.close();
  await releaseLease(deps.db, DEPLOYMENTS, lease);
}

/** True if this worker still holds the deployment and its cancellation was requested. */
async function isCancelled({ deps, lease }: DeploymentRun): Promise<boolean> {
  const current = await getDeployment(deps.db, lease.id);
  return current?.fence === lease.fence && current.cancel_requested_at !== null && canBeCancelled(current.status);
}

/** Operators see a fault of the platform; they need not know a customer's secrets. */
function masked(fault: unknown, { channel }: DeploymentRun): Error {
  const error = new Error(channel.mask(errorMessage(fault)));
  if (fault instanceof Error && fault.stack !== undefined) error.stack = channel.mask(fault.stack);
  return error;
}

async function openRun(deps: JobDeps, parts: DeploymentParts, signal: AbortSignal): Promise<DeploymentRun> {
  const { deployment, service } = parts;
  if (!service) throw new AppError('not_found', `service ${deployment.service_id} does not exist`);
  const { variables, repository } = await openOrFail(deps, parts);
  const masker = new Masker([...Object.values(variables), ...credentialsOf(repository)]);
  const channel = deps.logs.open({ serviceId: service.id, deploymentId: deployment.id, masker });
  const opened = { ...deployment, configuration: { ...deployment.configuration, repository } };
  return new DeploymentRun({ deps, deployment: opened, service, variables, signal, channel });
}

/** A snapshot that does not open fails the deployment at once: no later try could do better. */
async function openOrFail({ db, keyring }: JobDeps, { deployment, snapshot }: DeploymentParts) {
  try {
    return {
      variables: await openSnapshot(db, keyring, snapshot),
      repository: await openRepository(db, keyring, deployment),
    };
  } catch (error) {
    const state = deployment.status;
    if (isTerminal(state) || !canBeCancelled(state)) throw error;
    const message = `${STEP_OF[state]}: what this deployment was queued with cannot be opened: ${errorMessage(error)}`;
    await applyEvent(db, deployment, state, { type: 'failed', error: message });
    throw new JobFailed(message);
  }
}
