import type { Db, Transaction } from './client.js';
import type { EnvironmentRow } from './rows.js';

/** An environment of this workspace. */
export async function findEnvironment(db: Db, workspaceId: string, id: string): Promise<EnvironmentRow | undefined> {
  return db<EnvironmentRow>('environments').where({ id, workspace_id: workspaceId }).first();
}

/** The same, kept from being deleted until the commit. */
export async function holdEnvironment(
  trx: Transaction,
  workspaceId: string,
  id: string,
): Promise<EnvironmentRow | undefined> {
  return trx<EnvironmentRow>('environments').where({ id, workspace_id: workspaceId }).forKeyShare().first();
}
