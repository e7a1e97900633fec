import type { DeploymentRow } from '../../shared/deployments/rows.js';
import { ReleaseError } from '../failures/explained-errors.js';
import type { JobDeps } from '../worker-deps.js';
import { nothingWentLive, settleTogether } from './settle-together.js';

/** How long a prepared deployment leaves its slot before it looks at the others again, in milliseconds. */
const POLL_INTERVAL_MS = 1_000;

/**
 * Returns null if a deployment goes on with the step of its state. If it is prepared, it gives back its slot: the routes
 * have moved by now, or it looks again later. Throws `ReleaseError` once no route of the group can move.
 */
export async function meetOthers(
  deps: Pick<JobDeps, 'db' | 'dispatcher'>,
  { together_id: applyId, status }: Pick<DeploymentRow, 'together_id' | 'status'>,
): Promise<{ laterInMs: number; says: string } | null> {
  if (applyId === null || status === 'switched') return null;
  const decision = await settleTogether(deps, applyId);
  if (decision.type === 'giveUp') throw new ReleaseError(nothingWentLive(decision.reason));
  if (status !== 'prepared') return null;
  const says = decision.type === 'wait' ? `waits for ${decision.for.join(', ')}` : 'all routes have moved';
  return { laterInMs: POLL_INTERVAL_MS, says };
}
