import type { DeploymentRow } from '../../shared/deployments/rows.js';
import { ReleaseError } from '../failures/explained-errors.js';
import type { JobDeps } from '../worker-deps.js';
import { nothingWentLive, settleTogether } from './settle-together.js';

const POLL_INTERVAL_MS = 1_000;

/** Returns null if a deployment can continue, else when to try again. Throws `ReleaseError` on `giveUp`. */
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
