import { deleteService } from '../../shared/lifecycle/commands.js';
import { queueOperation } from '../../shared/operations/commands.js';
import { abandonedDatabases } from '../../shared/previews/database-store.js';
import { decidePreview } from '../../shared/previews/model.js';
import { endingPreviews, forgetDeletedPreviews, observePreview } from '../../shared/previews/store.js';
import { lockService } from '../../shared/services/store.js';
import { sweepEach } from '../core/sweep-each.js';
import type { JobDeps } from '../worker-deps.js';

const ACTOR = 'previews';

type Deps = Pick<JobDeps, 'db' | 'dispatcher' | 'log'>;

/** Deletes previews that have ended, and retries failed deletions. Returns a line for each deletion. */
export async function reapPreviews(deps: Deps): Promise<string[]> {
  await forgetDeletedPreviews(deps.db);
  const now = new Date();
  const ended = (await endingPreviews(deps.db)).filter(({ facts }) => decidePreview(facts, now).type !== 'keep');
  const failure = 'a preview was not deleted';
  const facts = ({ serviceId }: { serviceId: string }) => ({ serviceId });
  const lines = await sweepEach(ended, { ...deps, atOnce: 1, failure, facts }, ({ serviceId }) =>
    reap(deps, serviceId),
  );
  const abandoned = await abandonedDatabases(deps.db);
  const missed = 'the database of a preview was not deleted';
  const left = await sweepEach(abandoned, { ...deps, atOnce: 1, failure: missed, facts }, ({ serviceId }) =>
    reapDatabase(deps, serviceId),
  );
  lines.push(...left);
  if (lines.length > 0) deps.dispatcher.wake();
  return lines;
}

async function reapDatabase({ db }: Deps, serviceId: string): Promise<string[]> {
  return db.transaction(async (trx) => {
    const service = await lockService(trx, serviceId);
    if (!service) return [];
    if (service.lifecycle_status === 'deleting') await queueOperation(trx, { service, actor: ACTOR }, 'delete');
    else await deleteService(trx, { service, actor: ACTOR });
    return [`deleted the database ${service.slug} of a preview`];
  });
}

/** Decides again under the service's lock: a deployment that was queued meanwhile keeps the preview. */
async function reap({ db }: Deps, serviceId: string): Promise<string[]> {
  return db.transaction(async (trx) => {
    const service = await lockService(trx, serviceId);
    const facts = service && (await observePreview(trx, serviceId));
    if (!facts) return [];
    const decision = decidePreview(facts, new Date());
    if (decision.type === 'keep') return [];
    if (decision.type === 'deleteAgain') {
      await queueOperation(trx, { service, actor: ACTOR }, 'delete');
      return [`the deletion of the preview ${service.slug} failed and is tried again`];
    }
    await deleteService(trx, { service, actor: ACTOR });
    return [`deleted the preview ${service.slug}: ${decision.reason}`];
  });
}
