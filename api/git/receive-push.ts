import { readFile } from 'node:fs/promises';
import { type AuditEntry, insertAuditEntry } from '../../shared/audit/store.js';
import type { Config } from '../../shared/core/config.js';
import { serviceUrl } from '../../shared/core/config.js';
import type { Db } from '../../shared/core/database/database-client.js';
import { AppError, errorMessage } from '../../shared/core/error-registry.js';
import type { Logger } from '../../shared/core/log.js';
import { closePreview, previewOfBranch } from '../../shared/previews/store.js';
import { decideRef, type RefUpdate, readPushOptions } from '../../shared/pushes/model.js';
import type { CommandDeps } from '../../shared/secrets/command-deps.js';
import { isRouted } from '../../shared/services/model.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import { getService } from '../../shared/services/store.js';
import { followDeployment } from './follow-deployment.js';
import type { HookAnswer, HookChannel, HookRequest } from './hook-channel.js';
import { newDeploymentId, queuePush } from './push-commands.js';
import type { PushedRepository } from './pushed-repositories.js';
import { settleEndedPush } from './settle-pushes.js';

export interface PushDeps extends CommandDeps {
  db: Db;
  config: Config;
  log: Logger;
  engine: { ping(): Promise<unknown> };
  dispatcher: { wake(): void };
  isEnding: () => boolean;
}

export interface Push {
  service: ServiceRow;
  repository: PushedRepository;
  folderId: string;
  actor: string;
  audited: Pick<AuditEntry, 'workspace_id' | 'actor' | 'user_id' | 'credential' | 'credential_id' | 'request_id'>;
  /** Throws if the pusher may not read the variables of a protected environment: pushed code could read them. */
  authorize: (facts: { protectedEnvironment: boolean }) => void;
}

/** Work to do after git has exited. */
export type Afterwards = () => Promise<void>;

const NOTHING = /^0+$/;

/** Performs a push whose objects git has stored. If the pusher disconnects, the work continues. */
export async function receivePush(
  deps: PushDeps,
  push: Push,
  channel: HookChannel,
  request: HookRequest,
): Promise<Afterwards> {
  const { repository, service } = push;
  const { branch } = service.configuration;
  const branches = await repository.branches();
  const { noWait, unknown } = readPushOptions(request.options);
  for (const option of unknown)
    channel.say(`The push option "${option.slice(0, 100)}" is unknown; "no-wait" is the one there is.`);
  const shallow = request.shallowFile === '' ? '' : await readFile(request.shallowFile, 'utf8').catch(() => '');
  const answers: HookAnswer[] = [];
  const afterwards: Afterwards[] = [];
  const ordered = [...request.updates].sort((a, b) => Number(isDeployed(a, branch)) - Number(isDeployed(b, branch)));
  for (const update of ordered) {
    const { ref } = update;
    const decision = decideRef(update, branch, branches);
    try {
      switch (decision.type) {
        case 'refuse':
          answers.push({ ref, ok: false, reason: decision.reason });
          break;
        case 'delete':
          answers.push(await deleteBranch(deps, push, channel, update, decision.branch));
          break;
        case 'store': {
          const stored =
            (await showBranch(deps, push, channel, update, { branch: decision.branch, noWait, shallow })) ??
            (await storeBranch(push, channel, update, decision.branch, shallow !== ''));
          answers.push(stored.answer);
          afterwards.push(stored.afterwards);
          branches.add(decision.branch);
          break;
        }
        case 'deploy': {
          const deployed = await deployBranch(deps, push, channel, update, { branch, noWait, shallow });
          if (deployed === null) throw new Error('the service deploys its own branch');
          answers.push(deployed.answer);
          afterwards.push(deployed.afterwards);
        }
      }
    } catch (error) {
      answers.push({ ref, ok: false, reason: refusal(deps, channel, error) });
    }
  }
  channel.answer(answers);
  return async () => {
    for (const work of afterwards) await work();
  };
}

function isDeployed({ ref }: RefUpdate, branch: string): boolean {
  return ref === `refs/heads/${branch}`;
}

async function deleteBranch(
  { db, log }: PushDeps,
  { repository, service }: Push,
  channel: HookChannel,
  { ref, from }: RefUpdate,
  branch: string,
): Promise<HookAnswer> {
  const deleted = await repository.deleteBranch(branch, from);
  if (!deleted.ok) return { ref, ok: false, reason: 'the branch has moved meanwhile; fetch and try again' };
  if (branch === service.configuration.branch)
    channel.say(`The branch ${branch} is deleted. ${service.name} goes on running its last release.`);
  const preview = await previewOfBranch(db, service.id, branch);
  if (preview && (await closePreview(db, preview.service_id, 'its branch was deleted'))) {
    log.info({ serviceId: preview.service_id }, 'the branch of a preview was deleted; the preview will be deleted');
    channel.say(`The preview of ${branch} is deleted in a moment.`);
  }
  return { ref, ok: true };
}

/**
 * Deploys a branch to its preview. Returns null if there is no preview. If an error is the reason, tells it to the
 * pusher.
 */
async function showBranch(
  deps: PushDeps,
  push: Push,
  channel: HookChannel,
  update: RefUpdate,
  options: DeployOptions,
): Promise<Done | null> {
  const { previewMode } = push.service.configuration;
  if (previewMode === 'off') return null;
  const preview = await previewOfBranch(deps.db, push.service.id, options.branch);
  if (!preview && previewMode !== 'automatic') return null;
  try {
    return await deployBranch(deps, push, channel, update, options);
  } catch (error) {
    // The push still stores the branch: a pusher must not lose work because the maximum number of previews is reached.
    if (!(error instanceof AppError)) throw error;
    channel.say(`-----> No preview of ${options.branch}: ${error.message}`);
    return null;
  }
}

async function storeBranch(
  { repository, service }: Push,
  channel: HookChannel,
  { ref, from, to }: RefUpdate,
  branch: string,
  shallow: boolean,
): Promise<Done> {
  if (!(await repository.hasCommit(to))) return refused(ref, 'it is no commit');
  channel.say(
    `The branch ${branch} is stored and not deployed: ${service.name} deploys ${service.configuration.branch}.`,
  );
  if (shallow) return done({ ref, ok: true, byGit: true });
  const moved = await repository.moveBranch(branch, to, from);
  if (!moved.ok) return refused(ref, 'the branch cannot be moved; fetch and try again');
  return done({ ref, ok: true });
}

interface DeployOptions {
  branch: string;
  noWait: boolean;
  /** Content of git's file `shallow`: the commits at which the pushed history ends; '' if the push is not shallow. */
  shallow: string;
}

interface Done {
  answer: HookAnswer;
  afterwards: Afterwards;
}

/**
 * Returns null if the branch has no preview and none is created. A shallow push fails if its hook updates the ref, so
 * git itself updates the ref at the end. With `noWait`, git updates the ref before the commit is live, so `afterwards`
 * reverts that update.
 */
async function deployBranch(
  deps: PushDeps,
  push: Push,
  channel: HookChannel,
  { ref, from, to }: RefUpdate,
  { branch, noWait, shallow }: DeployOptions,
): Promise<Done | null> {
  const { repository } = push;
  if (!(await repository.hasCommit(to))) return refused(ref, 'it is no commit');
  await deps.engine.ping().catch(() => {
    throw new AppError('engine_unavailable');
  });
  const wanted = newDeploymentId();
  // From here on, a ref protects the commit, so that a worker finds the commit as soon as the deployment exists.
  await repository.keep(wanted, to);
  if (shallow !== '') await repository.noteShallow(wanted, shallow);
  const queued = await deps.db
    .transaction(async (trx) => {
      const hasMoved = async () => (await repository.commitOf(branch)) === to;
      const queued = await queuePush(trx, deps, { ...push, id: wanted, branch, commitSha: to, hasMoved });
      if (queued === null) return null;
      const service = await getService(trx, queued.serviceId);
      if (!service) throw new AppError('not_found');
      const path = `/services/${service.id}/deploys`;
      const target = { operation: 'deployment.create', path, target_id: queued.id, target_name: service.name };
      if (!queued.joined) await insertAuditEntry(trx, { ...push.audited, ...target });
      return { ...queued, service };
    })
    .catch(async (error: unknown) => {
      await repository.forget(wanted);
      throw error;
    });
  if (queued === null || queued.joined) await repository.forget(wanted);
  if (queued === null) return null;
  const { id, joined, service } = queued;
  deps.dispatcher.wake();
  deps.log.info({ serviceId: service.id, deploymentId: id, commit: to, actor: push.actor }, 'a push is deployed');
  channel.say('');
  channel.say(
    `-----> ${joined ? 'This commit is being deployed already' : 'Deploys'} ${to.slice(0, 12)}: ${await repository.subject(to)}`,
  );
  channel.say(`       deployment ${id} of ${service.name}`);
  const byGit = shallow !== '';
  const settle = () => settleEndedPush(deps.db, repository, id);
  if (noWait) {
    channel.say('       It goes on without this push (no-wait).');
    const restore = async () => {
      if (!byGit) return;
      await repository.adoptShallow(wanted);
      await (NOTHING.test(from) ? repository.deleteBranch(branch, to) : repository.moveBranch(branch, from, to));
      await settle();
    };
    return done({ ref, ok: true, byGit }, restore);
  }
  const end = await followDeployment({
    db: deps.db,
    serviceId: service.id,
    deploymentId: id,
    say: (line) => channel.say(line),
    isEnding: deps.isEnding,
  });
  const finish = async () => {
    await repository.adoptShallow(wanted);
    await settle();
  };
  if (end.status !== 'live') return done({ ref, ok: false, reason: explain(channel, end, id) }, finish);
  channel.say(
    isRouted(service.kind)
      ? `-----> Live at ${serviceUrl(deps.config, service.slug)}`
      : `-----> ${service.name} is live`,
  );
  channel.say('');
  if (byGit) return done({ ref, ok: true, byGit }, finish);
  await settle();
  return done({ ref, ok: true });
}

function done(answer: HookAnswer, afterwards: Afterwards = async () => undefined): Done {
  return { answer, afterwards };
}

function refused(ref: string, reason: string): Done {
  return done({ ref, ok: false, reason });
}

function explain(channel: HookChannel, { status, error }: { status: string; error: string }, id: string): string {
  channel.say('');
  if (status === 'unknown') {
    channel.say(
      `-----> The platform stops showing this deployment; it goes on. Push again to follow it, or read deployment ${id}.`,
    );
    return 'the platform is restarting; push again to see how the deployment ends';
  }
  channel.say(status === 'failed' ? `-----> Failed at ${error}` : '-----> The deployment was cancelled');
  channel.say('       The branch was not moved, so that the same push tries it again.');
  return status === 'failed' ? 'the deployment failed' : 'the deployment was cancelled';
}

function refusal(deps: PushDeps, channel: HookChannel, error: unknown): string {
  if (!(error instanceof AppError)) {
    deps.log.error({ err: error }, `a push failed unexpectedly: ${errorMessage(error)}`);
    return 'a fault of the platform; try again';
  }
  const details = (error.details ?? []).map(({ path, message }) => `${path}: ${message}`);
  for (const line of [error.message, ...details]) channel.say(`-----> ${line}`);
  return error.code;
}
