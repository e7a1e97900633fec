import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../../shared/core/database/database-client.js';
import { type QueueDeploymentInput, queueDeployment } from '../../shared/deployments/commands.js';
import type { DeploymentRow } from '../../shared/deployments/rows.js';
import { previewForBranch } from '../../shared/pulls/preview-commands.js';
import { branchRef } from '../../shared/pushes/model.js';
import { findMovedPush, findOpenPush, giveUpPushes, insertPush } from '../../shared/pushes/store.js';
import type { CommandDeps } from '../../shared/secrets/command-deps.js';
import type { ServiceRow } from '../../shared/services/rows.js';

export interface QueuePushInput extends Pick<QueueDeploymentInput, 'actor' | 'authorize'> {
  service: Pick<ServiceRow, 'id' | 'workspace_id' | 'configuration'>;
  /** The id of the new deployment. A ref with this name protects the commit from garbage collection. */
  id: string;
  branch: string;
  commitSha: string;
  folderId: string;
  /** Resolves to true if the branch has been updated to this commit since the pusher's git read the branch. */
  hasMoved: () => Promise<boolean>;
}

export interface QueuedPush {
  id: string;
  serviceId: string;
  /** True if an earlier push of the same commit queued this deployment. */
  joined: boolean;
}

/**
 * Queues the deployment of a pushed commit. If an earlier push of the commit has queued one, returns that deployment.
 * Returns null for a branch that gets no preview. Throws the errors of `queueDeployment` and `previewForBranch`.
 */
export async function queuePush(
  trx: Transaction,
  deps: CommandDeps,
  input: QueuePushInput,
): Promise<QueuedPush | null> {
  const { service, branch, commitSha, folderId } = input;
  await trx.raw('select 1 from services where id = ? for update', [service.id]);
  const push = { serviceId: service.id, ref: branchRef(branch), commitSha };
  // `findOpenPush` finds a push that has not updated the branch yet. `findMovedPush` finds one that has updated it.
  const open = (await findOpenPush(trx, push)) ?? ((await input.hasMoved()) ? await findMovedPush(trx, push) : null);
  if (open) return { id: open.id, serviceId: open.deployed_service_id, joined: true };
  await giveUpPushes(trx, push);
  const queued = await queue(trx, deps, input);
  if (queued === null) return null;
  const { id, service_id } = queued;
  await insertPush(trx, { id, service_id: service.id, folder_id: folderId, ref: push.ref, commit_sha: commitSha });
  return { id, serviceId: service_id, joined: false };
}

async function queue(
  trx: Transaction,
  deps: CommandDeps,
  { id, service, branch, commitSha, actor, authorize }: QueuePushInput,
): Promise<DeploymentRow | null> {
  if (branch === service.configuration.branch) {
    return queueDeployment(trx, deps, { id, service, actor, trigger: 'commit', branch, commitSha, authorize });
  }
  const { id: baseId, workspace_id: workspaceId } = service;
  const preview = { workspaceId, baseId, branch, commitSha, deploymentId: id, again: true };
  return previewForBranch(trx, deps, { ...preview, actor, authorize });
}

/** Returns an id that is greater than the ids of earlier deployments. */
export function newDeploymentId(): string {
  return uuidv7();
}
