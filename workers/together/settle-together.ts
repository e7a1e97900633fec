import type { Transaction } from '../../shared/core/database/database-client.js';
import { failUnadmitted, goLiveTogether } from '../../shared/deployments/store.js';
import type { JobDeps } from '../worker-deps.js';
import { decideTogether, type GroupDecision } from './decide-together.js';
import { giveUp, lockGroup, readGroup } from './group-store.js';

/**
 * Decides whether the deployments of an apply go live together, and moves all routes if they do. Several workers may do
 * this at once. After `giveUp` no route moves to a new release, so the new releases may be stopped.
 */
export async function settleTogether(
  { db, dispatcher }: Pick<JobDeps, 'db' | 'dispatcher'>,
  applyId: string,
): Promise<GroupDecision> {
  const seen = decideTogether(await readGroup(db, applyId));
  if (seen.type === 'wait' || seen.type === 'switched') return seen;
  const decision = await db.transaction((trx) => carryOut(trx, applyId));
  if (decision.type === 'switch') dispatcher.wake();
  return decision;
}

/** Decides again under locks, because the observed state may have changed. */
async function carryOut(trx: Transaction, applyId: string): Promise<GroupDecision> {
  await lockGroup(trx, applyId);
  const group = await readGroup(trx, applyId);
  const decision = decideTogether(group);
  if (decision.type === 'giveUp') {
    await giveUp(trx, applyId, decision.reason);
    await failUnadmitted(trx, applyId, nothingWentLive(decision.reason));
  }
  if (decision.type === 'switch') {
    const members = group.deployments.filter(({ together }) => together).length;
    const moved = await goLiveTogether(trx, applyId);
    if (moved !== members) throw new Error(`${moved} of ${members} deployments of the apply ${applyId} could go live`);
  }
  return decision;
}

/** Returns the error of all deployments that do not go live for this reason. */
export function nothingWentLive(reason: string): string {
  return `no service of the stack went live, because ${reason}`;
}
