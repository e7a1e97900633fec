import type { Transaction } from '../../../shared/core/database/database-client.js';
import { AppError } from '../../../shared/core/error-registry.js';
import { consentsToPayment } from '../../../shared/workspaces/billing.js';
import {
  type WorkspaceConfiguration,
  type WorkspaceRow,
  workspaceConfiguration,
} from '../../../shared/workspaces/model.js';
import { lockWorkspace, updateWorkspaceConfiguration } from '../../../shared/workspaces/store.js';

export interface UpdateWorkspaceInput {
  workspaceId: string;
  changes: Partial<WorkspaceConfiguration>;
  /** False for API keys, which cannot consent to paid compute (specification, Authentication 6). */
  mayConsent: boolean;
}

/**
 * Changes a workspace's settings. Throws not_found, and forbidden if the changes consent to payment and `mayConsent` is
 * false.
 */
export async function updateWorkspace(
  trx: Transaction,
  { workspaceId, changes, mayConsent }: UpdateWorkspaceInput,
): Promise<WorkspaceRow> {
  const workspace = await lockWorkspace(trx, workspaceId);
  if (!workspace) throw new AppError('not_found');
  const before = workspaceConfiguration(workspace.configuration);
  if (!mayConsent && consentsToPayment(before, { ...before, ...changes })) {
    throw new AppError(
      'forbidden',
      'An API key cannot consent to payment: allow overages, or raise, lift or revalue the budget',
    );
  }
  return updateWorkspaceConfiguration(trx, workspaceId, changes);
}
