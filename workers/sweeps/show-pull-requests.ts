import { AppError } from '../../shared/core/error-registry.js';
import { lockPullById, noteRetry, pullsToRetry } from '../../shared/previews/pull-store.js';
import { showPull } from '../../shared/pulls/commands.js';
import { lockService } from '../../shared/services/store.js';
import { sweepEach } from '../core/sweep-each.js';
import type { JobDeps } from '../worker-deps.js';

const ACTOR = 'previews';

/** Creates previews that a pull request's webhook could not create. Returns a line for each. */
export async function showPullRequests(
  deps: Pick<JobDeps, 'db' | 'keyring' | 'config' | 'dispatcher' | 'log'>,
): Promise<string[]> {
  const { db, dispatcher } = deps;
  const failure = 'the preview of a pull request was not made';
  const facts = ({ id }: { id: string }) => ({ pull: id });
  const pulls = await pullsToRetry(db);
  const lines = await sweepEach(pulls, { ...deps, atOnce: 1, failure, facts }, async ({ id, service_id, number }) => {
    try {
      const made = await db.transaction(async (trx) => {
        const base = await lockService(trx, service_id);
        const pull = base && (await lockPullById(trx, service_id, id));
        if (base && pull?.open) return showPull(trx, deps, { pull, base, actor: ACTOR });
        await noteRetry(trx, id, false);
        return null;
      });
      return made ? [`made the preview of pull request #${number}`] : [];
    } catch (error) {
      await noteRetry(db, id, true);
      if (!(error instanceof AppError)) throw error;
      return [];
    }
  });
  if (lines.length > 0) dispatcher.wake();
  return lines;
}
