import { insertAuditEntry } from '../../shared/audit/store.js';
import { reasonAgainst } from '../../shared/commits/model.js';
import {
  appliedCommit,
  type CommitEventRow,
  finishCommitEvent,
  hasLaterEvent,
  liveCommit,
  postponeCommitEvent,
  recordApplied,
  recordHead,
} from '../../shared/commits/store.js';
import type { Transaction } from '../../shared/core/database/database-client.js';
import { AppError } from '../../shared/core/error-registry.js';
import { SKIPPED, skipsDeployment } from '../../shared/hooks/model.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import { acceptApply } from '../../shared/stacks/accept-apply.js';
import { type PlannedDocument, type PlanRequest, planDocument } from '../../shared/stacks/plan-document.js';
import { type PushedCommit, pushedServices, repositoryKey, stackNameOf } from '../../shared/stacks/pushed-commit.js';
import { MAX_DOCUMENT_BYTES } from '../../shared/stacks/read-document.js';
import { findStack, hasOpenApply } from '../../shared/stacks/store.js';
import type { JobDeps } from '../worker-deps.js';
import { changedFiles } from './changed-files.js';
import { NotYet } from './not-yet.js';
import { notApplied, reasonAgainstApply, reasonOf, STACK_FILE } from './push-decision.js';
import { type StackHook, stackOfService } from './stack-hooks.js';

/** How long a push waits, in milliseconds, before it checks again whether the running apply of its stack has ended. */
const POLL_INTERVAL_MS = 5_000;

export interface Push {
  event: CommitEventRow;
  service: ServiceRow;
  hook: StackHook;
  /** The repository's URL, with its credentials. */
  url: string;
  /** The head commit of the branch. */
  sha: string;
  signal: AbortSignal;
  /** True if this is the job's last attempt. */
  last: boolean;
}

/** `deploy`: deploy the service, which is not part of the stack. `wait`: an apply of the stack is running. */
export interface PushOutcome {
  says: string;
  next: 'end' | 'deploy' | 'wait';
}

/** Thrown to roll a transaction back, because another worker applied the commit first. */
class AppliedBefore extends Error {}

/**
 * Applies the `ranvier.yaml` of a pushed commit if its plan deletes nothing and no secret is missing. Of several pushes
 * during an apply, only the newest waits until the apply ends. Throws `NotYet` if the environment has changed since the
 * plan was made, except in the job's last attempt.
 */
export async function applyPushed(deps: JobDeps, push: Push): Promise<PushOutcome> {
  const { db } = deps;
  const { event, service, url, sha, signal, last } = push;
  const { branch } = event;
  const own = await stackOfService(db, service.id);
  const name = own ?? stackNameOf(service.configuration.repository);
  if ((await appliedCommit(db, service.id, branch)) === sha) {
    return { says: `${STACK_FILE} of the commit was applied before`, next: own === null ? 'deploy' : 'end' };
  }
  const stack = await findStack(db, service.workspace_id, name);
  if (stack !== undefined && (await hasOpenApply(db, stack.id))) return waitForApply(deps, push, name);
  const ignored = async (says: string): Promise<PushOutcome> => {
    await recordHead(db, service.id, branch, sha);
    return { says, next: 'end' };
  };
  if (skipsDeployment(await deps.source.messageOf({ url, sha, signal }))) return ignored(SKIPPED);
  const file = await deps.source.fileOf({ url, sha, signal, path: STACK_FILE, maxBytes: MAX_DOCUMENT_BYTES });
  if (file.type === 'missing') return ignored(notApplied('the commit has no such file at its root'));
  if (file.type === 'tooLarge') return ignored(notApplied(`it has more than ${MAX_DOCUMENT_BYTES} bytes`));
  try {
    const request = requestOf(push, name, file.text);
    const planned = await planDocument(db, deps, request);
    const reason = reasonAgainstApply(planned.plan, name);
    if (reason !== null) return { says: notApplied(reason), next: 'end' };
    return await accept(deps, push, request, planned, await commitOf(deps, push, planned));
  } catch (error) {
    if (error instanceof AppliedBefore) return applyPushed(deps, push);
    if (!(error instanceof AppError)) throw error;
    if (error.code === 'apply_running') return waitForApply(deps, push, name);
    if (error.code === 'plan_changed' && !last) throw new NotYet('the environment is being changed');
    return { says: notApplied(reasonOf(error)), next: 'end' };
  }
}

async function waitForApply({ db }: JobDeps, { event }: Push, stack: string): Promise<PushOutcome> {
  if (await hasLaterEvent(db, event)) return { says: 'a later push takes its place', next: 'end' };
  await postponeCommitEvent(db, event, POLL_INTERVAL_MS);
  return { says: `waits for the apply of the stack ${stack}`, next: 'wait' };
}

function requestOf({ service, hook }: Push, name: string, document: string): PlanRequest {
  const { workspace_id: workspaceId, environment_id } = service;
  return {
    ...{ workspaceId, name, document, environmentId: environment_id ?? undefined, values: {} },
    authorize({ protectedEnvironment }) {
      if (!protectedEnvironment || hook.reads_protected) return;
      throw new AppError(
        'forbidden',
        'the person who made the hook could not change protected environments: an admin has to make it again',
      );
    },
  };
}

/** Returns the pushed commit, with the names of the services whose path filters exclude every changed file. */
async function commitOf(deps: JobDeps, push: Push, { plan, matches }: PlannedDocument): Promise<PushedCommit> {
  const { event, service, url, sha, signal } = push;
  const { branch } = event;
  const excluded = new Set<string>();
  const commit = { repository: repositoryKey(service.configuration.repository), branch, sha, excluded };
  for (const { name, id, configuration } of pushedServices(plan, matches, commit)) {
    const before = (await liveCommit(deps.db, id, branch)) ?? event.before_sha;
    const files = await changedFiles(deps, configuration, { url, before, after: sha, signal });
    if (reasonAgainst({ ...files, autoDeploy: 'commit', message: '' }) !== null) excluded.add(name);
  }
  return commit;
}

async function accept(
  deps: JobDeps,
  { event, service, hook, sha }: Push,
  request: PlanRequest,
  { plan, matches }: PlannedDocument,
  pushed: PushedCommit,
): Promise<PushOutcome> {
  const { actor } = event;
  const isPart = matches.services.some(({ state }) => state?.id === service.id);
  const says = await deps.db.transaction(async (trx) => {
    const id = await acceptApply(trx, deps, {
      ...{ ...request, pushed, actor, planHash: plan.hash },
      ...{ confirmDestructive: undefined, needEngine: () => undefined },
    });
    if (!(await recordApplied(trx, service.id, pushed.branch, sha))) throw new AppliedBefore();
    await recordAudit(trx, { event, hook, request, applyId: id });
    const outcome = `applies the stack ${request.name}: ${id}`;
    if (isPart) await finishCommitEvent(trx, event.id, { outcome });
    return outcome;
  });
  deps.dispatcher.wake();
  return { says, next: isPart ? 'end' : 'deploy' };
}

function recordAudit(
  trx: Transaction,
  { event, hook, request, applyId }: { event: CommitEventRow; hook: StackHook; request: PlanRequest; applyId: string },
): Promise<void> {
  return insertAuditEntry(trx, {
    workspace_id: request.workspaceId,
    actor: event.actor,
    user_id: hook.stack_by,
    credential: 'hook',
    credential_id: hook.id,
    operation: 'stack.apply',
    path: `/stacks/${request.name}/apply`,
    target_id: applyId,
    target_name: request.name,
    request_id: event.id,
  });
}
