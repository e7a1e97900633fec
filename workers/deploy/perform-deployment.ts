import { errorMessage } from '../../shared/core/error-registry.js';
import { readCanary } from '../../shared/deployments/canary-store.js';
import { DEPLOYMENTS } from '../../shared/deployments/kind.js';
import {
  type ActiveState,
  type DeploymentEvent,
  isTerminal,
  STEP_OF,
  TRANSITIONS,
} from '../../shared/deployments/model.js';
import { getDeployment } from '../../shared/deployments/store.js';
import type { ClaimRules } from '../../shared/engine/transition.js';
import { SealError } from '../../shared/secrets/keyring.js';
import { credentialsOf } from '../../shared/services/service-source.js';
import { openSnapshot } from '../../shared/variables/snapshots.js';
import { endCanary, settleCanary } from '../canaries/settle-canary.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import { type Handler, perform, type Work } from '../engine/perform-record.js';
import { ReleaseError } from '../failures/explained-errors.js';
import { Masker } from '../masking/masker.js';
import { deploymentParts } from '../releases/deployment-parts.js';
import { openRepository } from '../releases/release-spec.js';
import type { LeftBehind } from '../releases/release-store.js';
import { meetOthers } from '../together/meet-others.js';
import type { JobDeps } from '../worker-deps.js';
import { changeOf, type HeldDeployment } from './deployment-changes.js';
import { type DeploymentRun, openRun } from './deployment-run.js';
import { endPreDeploy } from './pre-deploy.js';
import { build } from './steps/build-step.js';
import { queued } from './steps/queued-step.js';
import { confirmEdges, release } from './steps/release-step.js';

const STEPS: Record<
  Exclude<ActiveState, 'prepared' | 'canary' | 'withdrawn'>,
  (run: DeploymentRun) => Promise<DeploymentEvent>
> = {
  queued,
  building: build,
  releasing: release,
  switched: confirmEdges,
};

/** A deployment fails when this many workers have hung or crashed in one of its steps. */
const MAX_FAULTS = 2;
/** An operator may have killed a few workers. More takeovers of one step mean that the step is at fault. */
const MAX_TAKEOVERS = 8;

/**
 * Longest pause between two checks of a canary, in milliseconds. The leader ends the pause when it decides about the
 * canary.
 */
const CANARY_MS = 60_000;

export interface PerformedDeployment {
  /** False if there was nothing to do: the deployment had already ended, or does not exist. */
  ran: boolean;
  status: string;
  serviceId: string | null;
  /** The replicas and images that earlier releases left behind; null if unknown. */
  left: LeftBehind | null;
}

/** Runs a deployment until it ends or must wait. Throws `JobFailed`, and `Interrupted` at a shutdown. */
export async function performDeployment(
  deps: JobDeps,
  deploymentId: string,
  helpers: JobHelpers,
): Promise<PerformedDeployment> {
  const { db, faults } = deps;
  const attempt = async (rules: ClaimRules): Promise<PerformedDeployment | null> => {
    const handler = new DeploymentHandler(deps, rules);
    try {
      const status = await perform(deps, handler, deploymentId, helpers);
      const { record } = handler;
      return record && { ran: true, status, serviceId: record.service_id, left: record.left_behind ?? null };
    } finally {
      handler.end();
    }
  };
  const first = faults.knows(deploymentId) ? null : await attempt({ only: 'worker_faults = 0' });
  if (first !== null) return first;
  // Deployments during which a worker hung or crashed run one at a time, to show which one is at fault. They wait
  // before they are claimed, because a crash during the wait must not count against them.
  const before = await getDeployment(db, deploymentId);
  if (!before) return { ran: false, status: 'no such deployment', serviceId: null, left: null };
  const { status, service_id: serviceId } = before;
  const nothing: PerformedDeployment = { ran: false, status, serviceId, left: null };
  if (isTerminal(before.status)) return nothing;
  const faulty = await faults.isNoted(before);
  const again = async () => (await attempt(faulty ? { sql: 'worker_faults = worker_faults + 1' } : {})) ?? nothing;
  return faulty || before.worker_faults > 0 ? faults.alone(helpers.signal, again) : again();
}

class DeploymentHandler implements Handler<HeldDeployment> {
  readonly kind = DEPLOYMENTS;
  readonly failsJob = true;
  readonly claim: ClaimRules;
  readonly #deps: JobDeps;
  #work: Work<HeldDeployment> | null = null;
  #run: Promise<DeploymentRun> | null = null;
  #masker: Masker | null = null;
  #runEnds = () => {};

  constructor(deps: JobDeps, claim: ClaimRules) {
    this.#deps = deps;
    this.claim = claim;
  }

  get record(): HeldDeployment | null {
    return this.#work?.record ?? null;
  }

  run = async (work: Work<HeldDeployment>) => {
    const { status, fence } = work.record;
    if (isTerminal(status)) throw new Error(`deployment ${work.record.id} is ${status}`);
    this.#work = work;
    const later = await meetOthers(this.#deps, work.record);
    if (later !== null) return later;
    if (status === 'canary') {
      await settleCanary(this.#deps, work.record.id);
      return { laterInMs: CANARY_MS, says: 'some visitors get the release' };
    }
    if (status === 'withdrawn') throw new ReleaseError((await readCanary(this.#deps.db, work.record.id))?.reason ?? '');
    if (status === 'prepared') throw new Error(`deployment ${work.record.id} is prepared and waits for nothing`);
    work.helpers.report(`${status}: begins (fence ${fence})`);
    // The deployment has left its build slot, so another one can be admitted.
    if (status === 'switched') this.#deps.dispatcher.wakeAdmission();
    const run = await this.#open(work);
    if ('failed' in TRANSITIONS[status]) assertNotGivenUp(work.record);
    const event = await STEPS[status](run);
    if (event.type === 'built') run.image = event.image;
    return { event: event.type, ...changeOf(status, event) };
  };

  describe = ({ status }: HeldDeployment, cause: string) =>
    isTerminal(status) || cause === '' ? cause : `${STEP_OF[status]}: ${cause}`;

  mask = (text: string) => this.#masker?.mask(text) ?? text;

  beforeEnd: Handler<HeldDeployment>['beforeEnd'] = async (work, { state, cause }) => {
    const run = await this.#open(work).catch(() => null);
    await endPreDeploy(this.#deps, work.record, work.helpers);
    if (STEP_OF[work.record.status as ActiveState] === 'canary') await endCanary(this.#deps, work.record);
    await this.#deps.runtime.stop(work.record.id);
    if (state === 'failed') await run?.say(`The deployment failed at ${cause}`, 'error');
    else await run?.say('The deployment was cancelled', 'warn');
    await run?.channel.close();
  };

  afterEnd: Handler<HeldDeployment>['afterEnd'] = async ({ helpers }, { state, cause }) => {
    if (state === 'failed') helpers.report(cause);
  };

  beforeLeaving: Handler<HeldDeployment>['beforeLeaving'] = async (work, action) => {
    const opened = action.type === 'leave' ? this.#run : this.#open(work);
    const run = (await opened?.catch(() => null)) ?? null;
    if (action.type === 'handOver') await run?.say('The worker is shutting down; another one continues the deployment');
    if (action.type === 'handBack' && work.helpers.firstAttempt) {
      const fault = `a fault of the platform, which is tried again: ${errorMessage(action.fault)}`;
      await run?.say(this.describe(work.record, fault), 'warn');
    }
    await run?.channel.close();
  };

  end(): void {
    if (this.#work === null) return;
    this.#runEnds();
    this.#deps.dispatcher.wakeAdmission();
  }

  #open(work: Work<HeldDeployment>): Promise<DeploymentRun> {
    if (this.#run !== null) return this.#run;
    this.#work = work;
    this.#runEnds = this.#deps.faults.begin(work.record);
    this.#run = this.#openRun(work);
    return this.#run;
  }

  async #openRun(work: Work<HeldDeployment>): Promise<DeploymentRun> {
    const deps = this.#deps;
    const { db, keyring } = deps;
    const { id, fence } = work.record;
    // The claim has counted the fault of the previous run in `worker_faults`, so its note is no longer needed.
    if (this.claim.sql !== undefined) await deps.faults.forget({ id, fence: fence - 1 });
    const parts = await deploymentParts(db, id);
    if (!parts?.service) throw new ReleaseError('its service does not exist');
    const variables = await openSnapshot(db, keyring, parts.snapshot).catch(notOpened);
    const repository = await openRepository(db, keyring, parts.deployment).catch(notOpened);
    this.#masker = new Masker([...Object.values(variables), ...credentialsOf(repository)]);
    const channel = deps.logs.open({ serviceId: parts.service.id, deploymentId: id, masker: this.#masker });
    return openRun(work, repository, { deps, service: parts.service, variables, channel });
  }
}

/** Makes the deployment fail for good after a `SealError`, because a retry could not decrypt the value either. */
function notOpened(error: unknown): never {
  if (!(error instanceof SealError)) throw error;
  throw new ReleaseError(`what this deployment was queued with cannot be opened: ${errorMessage(error)}`);
}

function assertNotGivenUp({ takeovers, worker_faults: faults }: HeldDeployment): void {
  if (faults >= MAX_FAULTS) {
    throw new ReleaseError(
      `${faults} workers hung or crashed in this step: it is not given to another one; look at the log of the workers`,
    );
  }
  if (takeovers > MAX_TAKEOVERS) {
    const times = `${takeovers} workers took this step and none came to its end`;
    throw new ReleaseError(`${times}: each of them died or hung; look at the log of the workers, then deploy again`);
  }
}
