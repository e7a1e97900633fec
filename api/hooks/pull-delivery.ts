import { insertCommitEvent } from '../../shared/commits/store.js';
import type { Transaction } from '../../shared/core/database/database-client.js';
import { AppError } from '../../shared/core/error-registry.js';
import type { PullReport } from '../../shared/previews/pull-model.js';
import { noteRetry, type PullRow } from '../../shared/previews/pull-store.js';
import type { PreviewRow } from '../../shared/previews/store.js';
import { recordPull, showPull } from '../../shared/pulls/commands.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import { getService, lockService } from '../../shared/services/store.js';
import type { ApiDeps } from '../http/api-deps.js';
import type { HookTarget } from '../resources/hooks/store.js';

export interface PullDelivery {
  hook: HookTarget;
  report: PullReport;
  deliveryId: string | null;
  actor: string;
}

type Answer = { status: number; reason: string };

/** Creates, updates or deletes the preview of a pull request. A fork's commit waits for a member's approval. */
export async function receivePull(
  { db, keyring, config }: Pick<ApiDeps, 'db' | 'keyring' | 'config'>,
  { hook, report, deliveryId, actor }: PullDelivery,
): Promise<Answer> {
  const name = `#${report.number}`;
  if (hook.archived) return { status: 200, reason: 'the service is archived' };
  if (hook.configuration.previewMode === 'off') return { status: 200, reason: 'previews of the service are off' };
  try {
    const recorded = await db.transaction(async (trx): Promise<Answer | { base: ServiceRow; pull: PullRow }> => {
      const base = await lockService(trx, hook.service_id);
      if (!base) return { status: 200, reason: 'the service is deleted' };
      const outcome = await recordPull(trx, base.id, report);
      switch (outcome.type) {
        case 'stale':
          return { status: 200, reason: `a later report of ${name} was received before` };
        case 'closed':
          return { status: outcome.ended ? 202 : 200, reason: `${name} is closed` };
        case 'waiting':
          return { status: 202, reason: `${name} is of a fork and waits for the approval of its commit` };
        case 'decided':
          return { status: 200, reason: `the commit of ${name} was decided about before` };
        case 'open':
          return (await notifyExisting(trx, outcome)) ?? { base, pull: outcome.pull };
      }
    });
    return 'status' in recorded ? recorded : await show(recorded);
  } catch (error) {
    // A periodic sweep creates the preview later, for example once the plan allows it or another preview is deleted.
    if (error instanceof AppError) return { status: 200, reason: `no preview of ${name}: ${error.message}` };
    throw error;
  }

  /**
   * Stores a commit event for an existing preview; returns null if there is none. Unless the preview is open, also
   * records a retry, so that a periodic sweep creates the preview even if this process dies.
   */
  async function notifyExisting(
    trx: Transaction,
    { pull, preview }: { pull: PullRow; preview: PreviewRow | null },
  ): Promise<Answer | null> {
    const service = preview && (await getService(trx, preview.service_id));
    const running = service !== null && service !== undefined && service.lifecycle_status !== 'deleting';
    if (!running || preview?.closed_at !== null) await noteRetry(trx, pull.id, true);
    return running && preview ? storeEvent(trx, preview) : null;
  }

  /** Stores a commit event. A worker looks the commit up in the repository before it deploys anything. */
  async function storeEvent(trx: Transaction, { service_id, branch }: PreviewRow): Promise<Answer> {
    const stored = await insertCommitEvent(trx, {
      service_id,
      hook_id: hook.id,
      delivery_id: deliveryId,
      kind: 'push',
      branch,
      after_sha: report.headSha,
      actor,
    });
    if (stored === null) return { status: 200, reason: 'this delivery was received before' };
    return { status: 202, reason: `accepted for the preview of ${name}` };
  }

  async function show({ base, pull }: { base: ServiceRow; pull: PullRow }): Promise<Answer> {
    const made = await db.transaction((trx) => showPull(trx, { keyring, config }, { pull, base, actor }));
    if (made) return { status: 202, reason: `made a preview of ${name}` };
    return { status: 200, reason: 'the service makes no previews by itself' };
  }
}
