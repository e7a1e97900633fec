import { ownEnvironmentOnly } from '../../shared/commits/commands.js';
import { insertCommitEvent, pollSoon } from '../../shared/commits/store.js';
import { AppError } from '../../shared/core/error-registry.js';
import { type HookEvent, SKIPPED, skipsDeployment } from '../../shared/hooks/model.js';
import { noteMissingBranch, previewOfBranch } from '../../shared/previews/store.js';
import { previewForBranch } from '../../shared/pulls/preview-commands.js';
import { getService } from '../../shared/services/store.js';
import type { ApiDeps } from '../http/api-deps.js';
import type { HookTarget } from '../resources/hooks/store.js';

export interface PreviewPush {
  hook: HookTarget;
  event: Extract<HookEvent, { type: 'push' }>;
  deliveryId: string | null;
  actor: string;
}

/**
 * Deploys a pushed branch to its preview. Returns null if the branch has no preview and none is created. Git hosts do
 * not report pushes to forks, so branches of forks never arrive here.
 */
export async function pushToPreview(
  { db, keyring, config }: Pick<ApiDeps, 'db' | 'keyring' | 'config'>,
  { hook, event, deliveryId, actor }: PreviewPush,
): Promise<{ status: number; reason: string } | null> {
  const { service_id: baseId, configuration, archived } = hook;
  const { branch, after: commitSha } = event;
  if (archived || configuration.previewMode === 'off' || branch === configuration.branch) return null;
  const existing = await previewOfBranch(db, baseId, branch);
  if (!existing && configuration.previewMode !== 'automatic') return null;
  if (skipsDeployment(event.message)) return { status: 200, reason: SKIPPED };
  if (existing) {
    const stored = await insertCommitEvent(db, {
      service_id: existing.service_id,
      hook_id: hook.id,
      delivery_id: deliveryId,
      kind: 'push',
      branch,
      before_sha: event.before,
      after_sha: commitSha,
      actor,
    });
    if (stored === null) return { status: 200, reason: 'this delivery was received before' };
    return { status: 202, reason: `accepted for the preview of ${branch}` };
  }
  try {
    return await db.transaction(async (trx) => {
      const base = await getService(trx, baseId);
      if (!base) return null;
      const authorize = await ownEnvironmentOnly(trx, base.environment_id);
      const input = { workspaceId: base.workspace_id, baseId, branch, commitSha, actor, authorize };
      const made = await previewForBranch(trx, { keyring, config }, input);
      if (made) return { status: 202, reason: `made a preview of ${branch}` };
      return { status: 200, reason: `the pull requests of ${branch} are closed, or its commit is deployed already` };
    });
  } catch (error) {
    // The user can remove the cause, such as a used-up plan limit. The next push then creates the preview.
    if (error instanceof AppError) return { status: 200, reason: `no preview of ${branch}: ${error.message}` };
    throw error;
  }
}

/** Schedules a check of a reported deletion: the branch may have been pushed again in the meantime. */
export async function noteDeletedBranch(
  { db }: Pick<ApiDeps, 'db'>,
  { hook, branch }: { hook: HookTarget; branch: string },
): Promise<{ status: number; reason: string }> {
  const preview = await previewOfBranch(db, hook.service_id, branch);
  if (!preview) return { status: 200, reason: 'the branch was deleted' };
  await noteMissingBranch(db, preview.service_id);
  await pollSoon(db, preview.service_id);
  return { status: 202, reason: `the branch of the preview ${branch} was deleted` };
}
