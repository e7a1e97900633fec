import { ownEnvironmentOnly } from '../commits/commands.js';
import type { Transaction } from '../core/database/database-client.js';
import { AppError, conflict } from '../core/error-registry.js';
import { queueDeployment } from '../deployments/commands.js';
import type { DeploymentRow } from '../deployments/rows.js';
import type { DeploymentKey } from '../deployments/store.js';
import { isStale, MAX_OPEN, type PullReport, pullStatus } from '../previews/pull-model.js';
import {
  countOpenPulls,
  decidePull,
  lockPull,
  lockPullById,
  noteRetry,
  openPullsOfBranch,
  type PullRow,
  pullFacts,
  storePull,
} from '../previews/pull-store.js';
import { closePreview, linkPull, type PreviewRow, previewOfBranch, previewOfFork } from '../previews/store.js';
import type { CommandDeps } from '../secrets/command-deps.js';
import type { ServiceView } from '../services/store.js';
import { createPreview, previewForBranch } from './preview-commands.js';

/** `preview` is the preview of the pull request's branch; null if there is none. */
export type PullOutcome =
  | { type: 'stale' }
  | { type: 'closed'; ended: boolean }
  /** The pull request is from a fork, and no member has decided yet whether its head commit may be deployed. */
  | { type: 'waiting' }
  /** The pull request is from a fork, and a member has already approved or declined its head commit. */
  | { type: 'decided' }
  | { type: 'open'; pull: PullRow; preview: PreviewRow | null };

/**
 * Stores a git host's report about a pull request. Marks the preview of a closed pull request for deletion. Throws
 * capacity_exceeded. The caller must hold the service's lock.
 */
export async function recordPull(trx: Transaction, serviceId: string, report: PullReport): Promise<PullOutcome> {
  const stored = await lockPull(trx, serviceId, report.number);
  if (stored && isStale(pullFacts(stored), report)) return { type: 'stale' };
  if (!stored && report.open && (await countOpenPulls(trx, serviceId)) >= MAX_OPEN) {
    throw new AppError('capacity_exceeded', `There are ${MAX_OPEN} open pull requests already, which is the most`);
  }
  const pull = await storePull(trx, serviceId, report);
  if (!pull.open) return { type: 'closed', ended: await endPreview(trx, pull) };
  if (pull.fork) return { type: pullStatus(pullFacts(pull)) === 'waiting' ? 'waiting' : 'decided' };
  const preview = (await previewOfBranch(trx, serviceId, pull.branch)) ?? null;
  if (preview) await linkPull(trx, preview.service_id, pull.number);
  return { type: 'open', pull, preview };
}

/** Keeps the preview if another open pull request has the same branch. Otherwise requests its deletion. */
async function endPreview(trx: Transaction, { id, service_id, number, branch, fork }: PullRow): Promise<boolean> {
  await noteRetry(trx, id, false);
  const preview = fork ? await previewOfFork(trx, service_id, number) : await previewOfBranch(trx, service_id, branch);
  if (!preview) return false;
  const [other] = (fork ? null : await openPullsOfBranch(trx, service_id, branch)) ?? [];
  if (other === undefined) return closePreview(trx, preview.service_id, `pull request #${number} is closed`);
  await linkPull(trx, preview.service_id, other);
  return false;
}

/**
 * Creates or deploys the preview of an open pull request, which must not be from a fork. Returns null if there is
 * nothing to do. If the preview cannot be created now, a sweep retries. Throws errors of `createPreview`.
 */
export async function showPull(
  trx: Transaction,
  deps: CommandDeps,
  {
    pull,
    base,
    actor,
  }: { pull: PullRow; base: Pick<ServiceView, 'id' | 'workspace_id' | 'environment_id'>; actor: string },
): Promise<DeploymentRow | null> {
  const made = await previewForBranch(trx, deps, {
    workspaceId: base.workspace_id,
    baseId: base.id,
    branch: pull.branch,
    commitSha: pull.head_sha,
    pullNumber: pull.number,
    actor,
    authorize: await ownEnvironmentOnly(trx, base.environment_id),
  });
  await noteRetry(trx, pull.id, false);
  return made;
}

export interface DecideInput {
  base: ServiceView;
  pullId: string;
  actor: string;
}

/**
 * Approves one commit of a fork, and deploys it to a preview without variables. Throws not_found, conflict if the pull
 * request has a newer commit, is closed, or is not from a fork, and errors of `createPreview`.
 */
export async function approvePull(
  trx: Transaction,
  deps: CommandDeps,
  {
    base,
    pullId,
    actor,
    commitSha,
    idempotency,
    authorize,
  }: DecideInput & {
    commitSha: string;
    idempotency: DeploymentKey | null;
    authorize: (facts: { protectedEnvironment: boolean }) => void;
  },
): Promise<DeploymentRow> {
  const pull = await openFork(trx, base.id, pullId);
  if (pull.head_sha !== commitSha) {
    throw conflict(
      `Pull request #${pull.number} has another commit by now, ${pull.head_sha}; look at it and approve that one`,
    );
  }
  await decidePull(trx, pull.id, { decision: 'approved', sha: commitSha, by: actor });
  const deployment = { commitSha, actor, trigger: 'commit' as const, idempotency, authorize };
  const preview = await previewOfFork(trx, base.id, pull.number);
  if (!preview) {
    return createPreview(trx, deps, {
      base,
      branch: pull.ref,
      pull: { number: pull.number, fork: true },
      ...deployment,
    });
  }
  await linkPull(trx, preview.service_id, pull.number);
  return queueDeployment(trx, deps, { service: { id: preview.service_id }, ...deployment });
}

/** Declines a fork's head commit, and requests the deletion of its preview. Throws not_found, conflict. */
export async function declinePull(trx: Transaction, { base, pullId, actor }: DecideInput): Promise<void> {
  const pull = await openFork(trx, base.id, pullId);
  await decidePull(trx, pull.id, { decision: 'declined', sha: pull.head_sha, by: actor });
  const preview = await previewOfFork(trx, base.id, pull.number);
  if (preview) await closePreview(trx, preview.service_id, `pull request #${pull.number} was declined`);
}

async function openFork(trx: Transaction, serviceId: string, id: string): Promise<PullRow> {
  const pull = await lockPullById(trx, serviceId, id);
  if (!pull) throw new AppError('not_found');
  if (!pull.fork) throw conflict(`Pull request #${pull.number} is of no fork and needs no approval`);
  if (!pull.open) throw conflict(`Pull request #${pull.number} is closed`);
  return pull;
}
