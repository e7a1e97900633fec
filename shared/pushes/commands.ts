import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../core/database/client.js';
import { type QueueDeploymentInput, queueDeployment } from '../deployments/commands.js';
import type { CommandDeps } from '../secrets/command-deps.js';
import { branchRef } from './model.js';
import { findOpenPush, giveUpPushes, insertPush } from './store.js';

export interface QueuePushInput extends Pick<QueueDeploymentInput, 'service' | 'actor' | 'authorize'> {
  /** The deployment gets this id, under which its commit is kept. */
  id: string;
  branch: string;
  commitSha: string;
  folderId: string;
}

/**
 * Queues the deployment of a pushed commit, or finds the one that an earlier push of the same commit has queued and that has
 * not ended. Throws what `queueDeployment` throws.
 */
export async function queuePush(
  trx: Transaction,
  deps: CommandDeps,
  input: QueuePushInput,
): Promise<{ id: string; joined: boolean }> {
  const { service, branch, commitSha, folderId, actor, authorize } = input;
  await trx.raw('select 1 from services where id = ? for update', [service.id]);
  const push = { serviceId: service.id, ref: branchRef(branch), commitSha };
  const open = await findOpenPush(trx, push);
  if (open) return { id: open.id, joined: true };
  await giveUpPushes(trx, push);
  const { id } = await queueDeployment(trx, deps, {
    id: input.id,
    service,
    actor,
    trigger: 'commit',
    branch,
    commitSha,
    authorize,
  });
  await insertPush(trx, { id, service_id: service.id, folder_id: folderId, ref: push.ref, commit_sha: commitSha });
  return { id, joined: false };
}

/** An id for a deployment that is to be queued. */
export function newDeploymentId(): string {
  return uuidv7();
}
