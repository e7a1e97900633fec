import type { DeploymentRow } from '../../shared/deployments/rows.js';
import { ReleaseError } from '../failures/explained-errors.js';
import type { JobDeps } from '../worker-deps.js';
import { nothingWentLive, settleTogether } from './settle-together.js';

/** Interval at which a prepared deployment checks the other deployments of its group, in milliseconds. */
const POLL_INTERVAL_MS = 1_000;

/**
 * Returns null if a deployment can continue at once. For a prepared deployment, returns the time after which its job
 * runs again. The deployment still waits for other deployments of its group, or the routes of all services have just
 * been moved. Throws `ReleaseError` once it is decided that no deployment of the group goes live.
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
