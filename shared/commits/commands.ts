import type { Transaction } from '../core/database/database-client.js';
import { AppError } from '../core/error-registry.js';
import { queueDeployment } from '../deployments/commands.js';
import type { CommandDeps } from '../secrets/command-deps.js';
import { lockService } from '../services/store.js';
import { noveltyOf } from './model.js';
import { finishCommitEvent, knownCommits, recordHead } from './store.js';

export interface DeployCommitInput {
  eventId: string;
  serviceId: string;
  actor: string;
  /** The branch's head commit; null for a deploy hook, whose deployment resolves the head commit itself. */
  commit: { branch: string; sha: string } | null;
}

/**
 * Queues the deployment of a reported commit. Returns null if the commit was already handled because of another report.
 * Throws not_found, and errors of `queueDeployment`.
 */
export async function deployCommit(
  trx: Transaction,
  deps: CommandDeps,
  input: DeployCommitInput,
): Promise<string | null> {
  const { eventId, serviceId, actor, commit } = input;
  const service = await lockService(trx, serviceId);
  if (!service) throw new AppError('not_found');
  if (commit !== null) {
    const known = await knownCommits(trx, serviceId, commit.branch);
    if (noveltyOf(commit.sha, known) === 'known') {
      await finishCommitEvent(trx, eventId, { outcome: 'the commit is deployed already, or was looked at' });
      return null;
    }
    await recordHead(trx, serviceId, commit.branch, commit.sha);
  }
  const { id } = await queueDeployment(trx, deps, {
    service,
    actor,
    trigger: 'commit',
    ...(commit === null ? {} : { branch: commit.branch, commitSha: commit.sha }),
    authorize: await ownEnvironmentOnly(trx, service.environment_id),
  });
  if (!(await finishCommitEvent(trx, eventId, { outcome: 'deployed', deploymentId: id }))) {
    throw new Error('another worker has ended this event');
  }
  return id;
}

/**
 * Returns an authorization check for a deployment that a push triggers. Such a deployment has no caller. The check
 * refuses values of a protected environment to a service that is not in a protected environment.
 */
export async function ownEnvironmentOnly(
  trx: Transaction,
  environmentId: string | null,
): Promise<(facts: { protectedEnvironment: boolean }) => void> {
  const row =
    environmentId === null ? undefined : await trx('environments').where({ id: environmentId }).first('protected');
  const isProtected = row?.protected === true;
  return (facts) => {
    if (facts.protectedEnvironment && !isProtected) throw new AppError('forbidden');
  };
}
