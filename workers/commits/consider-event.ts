import { deployCommit, ownEnvironmentOnly } from '../../shared/commits/commands.js';
import { noveltyOf, reasonAgainst } from '../../shared/commits/model.js';
import {
  type CommitEventRow,
  finishCommitEvent,
  knownCommits,
  liveCommit,
  recordHead,
  type WatchedService,
} from '../../shared/commits/store.js';
import { AppError } from '../../shared/core/error-registry.js';
import { SKIPPED, skipsDeployment } from '../../shared/hooks/model.js';
import { previewForBranch } from '../../shared/pulls/preview-commands.js';
import { openFrom, SEALED } from '../../shared/secrets/sealed-columns.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import { isImageSource, isPushSource } from '../../shared/services/service-source.js';
import { getService } from '../../shared/services/store.js';
import { addressForWorkspace } from '../../shared/ssh/model.js';
import { SourceError } from '../failures/explained-errors.js';
import type { JobDeps } from '../worker-deps.js';
import { applyPushed } from './apply-pushed.js';
import { changedFiles } from './changed-files.js';
import { NotYet } from './not-yet.js';
import { findStackHook, stackThatDeploys } from './stack-hooks.js';

/**
 * Queues a deployment if the repository has a new commit, and returns the outcome in words. The event is only a hint:
 * commits and files are read from the repository. Throws `NotYet` if a later attempt may find out more; the `last`
 * attempt never does.
 */
export async function considerEvent(
  deps: JobDeps,
  event: CommitEventRow,
  signal: AbortSignal,
  last: boolean,
): Promise<string> {
  const { db, keyring } = deps;
  const end = async (outcome: string) => {
    await finishCommitEvent(db, event.id, { outcome });
    return outcome;
  };
  const service = await getService(db, event.service_id);
  if (!service || service.lifecycle_status === 'deleting') return end('the service is deleted');
  const { configuration } = service;
  try {
    if (event.kind === 'deploy') return await queue(deps, event, null);
    if (event.kind === 'preview') return await end(await preview(deps, service, event, signal));
    const { branch } = configuration;
    const { autoDeploy } = configuration;
    const hook = await findStackHook(db, service.id, event.hook_id);
    if (autoDeploy !== 'commit' && hook === null) return await end('autoDeploy of the service is off');
    if (event.branch !== branch) return await end(`the service deploys the branch ${branch}`);
    if (isImageSource(configuration) || isPushSource(configuration))
      return await end('the service is not deployed from a repository');

    const url = addressOf(keyring, service);
    const heads = await deps.source.heads({ url, branches: [branch], signal });
    const sha = heads.get(branch);
    if (sha === undefined) return await end(`the repository has no branch ${branch}`);
    const stale = event.before_sha !== '' && sha === event.before_sha && event.after_sha !== sha;
    if (stale && !last) throw new NotYet('the repository does not show the pushed commit yet');
    if (hook !== null) {
      const { says, next } = await applyPushed(deps, { event, service, hook, url, sha, signal, last });
      if (next === 'wait') return says;
      if (next === 'end' || autoDeploy !== 'commit') return await end(says);
    }
    const stack = hook === null ? await stackThatDeploys(db, service) : null;
    if (stack !== null) return await end(`the push applies the stack ${stack}, which deploys the service`);
    const novelty = noveltyOf(sha, await knownCommits(db, service.id, branch));
    if (novelty === 'wait' && !last) throw new NotYet('a deployment of the branch is about to begin');
    if (novelty === 'known') return await end('the commit is deployed already, or was looked at');

    const before = (await liveCommit(db, service.id, branch)) ?? event.before_sha;
    const message = await deps.source.messageOf({ url, sha, signal });
    const files = await changedFiles(deps, configuration, { url, before, after: sha, signal });
    const reason = reasonAgainst({ autoDeploy, message, ...files });
    if (reason !== null) {
      await recordHead(db, service.id, branch, sha);
      return await end(reason);
    }
    return await queue(deps, event, { branch, sha });
  } catch (error) {
    if (error instanceof SourceError) {
      if (!last) throw new NotYet(error.message);
      return end(error.message);
    }
    // No retry: only a user can remove the cause of an `AppError`, such as an exhausted budget.
    if (error instanceof AppError)
      return end([error.message, ...(error.details ?? []).map(({ message }) => message)].join('; '));
    throw error;
  }
}

/** Returns the URL of a service's repository, with its credentials. Throws `SealError`. */
export function addressOf(
  keyring: JobDeps['keyring'],
  { id, workspace_id, configuration, sealed_repository }: Omit<WatchedService, 'updated_at'>,
): string {
  if (sealed_repository === null) return addressForWorkspace(configuration.repository, workspace_id);
  return openFrom(keyring, SEALED.repository, id, sealed_repository);
}

async function preview(
  deps: JobDeps,
  service: ServiceRow,
  { branch, after_sha: sha, actor }: CommitEventRow,
  signal: AbortSignal,
): Promise<string> {
  const { id: baseId, workspace_id: workspaceId, environment_id } = service;
  const message = await deps.source.messageOf({ url: addressOf(deps.keyring, service), sha, signal });
  if (skipsDeployment(message)) return SKIPPED;
  const made = await deps.db.transaction(async (trx) =>
    previewForBranch(trx, deps, {
      workspaceId,
      baseId,
      branch,
      commitSha: sha,
      actor,
      authorize: await ownEnvironmentOnly(trx, environment_id),
    }),
  );
  deps.dispatcher.wake();
  return made ? `deployment ${made.id} of a preview of ${branch}` : `${branch} gets no preview, or has it already`;
}

async function queue(
  deps: JobDeps,
  event: CommitEventRow,
  commit: { branch: string; sha: string } | null,
): Promise<string> {
  const { id: eventId, service_id: serviceId, actor } = event;
  const id = await deps.db.transaction((trx) => deployCommit(trx, deps, { eventId, serviceId, actor, commit }));
  if (id === null) return 'another report was first';
  deps.dispatcher.wake();
  return `deployment ${id}`;
}
