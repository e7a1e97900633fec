import type { Transaction } from '../db/client.js';
import type { WorkspaceRow } from '../db/rows.js';
import { lockWorkspace, storeWorkspaceConfiguration } from '../db/workspaces.js';
import { type WorkspaceConfiguration, workspaceConfiguration } from '../domain/workspace.js';
import { AppError } from '../errors.js';

export interface UpdateWorkspaceInput {
  workspaceId: string;
  changes: Partial<WorkspaceConfiguration>;
  /** False for callers who cannot consent to payment (specification, Authentication 6: API keys). */
  consent: boolean;
}

/** Merges settings into those of the workspace. Throws not_found, forbidden where the change consents to payment. */
export async function updateWorkspace(
  trx: Transaction,
  { workspaceId, changes, consent }: UpdateWorkspaceInput,
): Promise<WorkspaceRow> {
  const workspace = await lockWorkspace(trx, workspaceId);
  if (!workspace) throw new AppError('not_found');
  const before = workspaceConfiguration(workspace.configuration);
  const after = { ...before, ...changes };
  const consents = (after.allowOverages && !before.allowOverages) || after.budget > before.budget;
  if (consents && !consent) {
    throw new AppError('forbidden', 'An API key cannot consent to payment: overages and a higher budget');
  }
  return storeWorkspaceConfiguration(trx, workspaceId, { ...workspace.configuration, ...changes });
}
