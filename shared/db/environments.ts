import type { Transaction } from './client.js';
import type { EnvironmentRow } from './rows.js';

/** An environment of this workspace, kept from being deleted until the commit. */
export async function holdEnvironment(
  trx: Transaction,
  workspaceId: string,
  id: string,
): Promise<EnvironmentRow | undefined> {
  return trx<EnvironmentRow>('environments').where({ id, workspace_id: workspaceId }).forKeyShare().first();
}
