import type { Db, Transaction } from '../core/database/database-client.js';

export interface EnvironmentRow {
  id: string;
  workspace_id: string;
  project_id: string;
  name: string;
  protected: boolean;
  created_at: Date;
  updated_at: Date;
}

export async function findEnvironment(db: Db, workspaceId: string, id: string): Promise<EnvironmentRow | undefined> {
  return db<EnvironmentRow>('environments').where({ id, workspace_id: workspaceId }).first();
}

/** Reads an environment with a shared lock, so that it cannot be deleted before the commit. */
export async function shareLockEnvironment(
  trx: Transaction,
  workspaceId: string,
  id: string,
): Promise<EnvironmentRow | undefined> {
  return trx<EnvironmentRow>('environments').where({ id, workspace_id: workspaceId }).forKeyShare().first();
}
