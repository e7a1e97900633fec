import { v7 as uuidv7 } from 'uuid';
import type { Db, Transaction } from '../core/database/database-client.js';
import { oneRow, returnedRow } from '../core/database/database-client.js';
import { AppError } from '../core/error-registry.js';
import type { WorkspaceConfiguration, WorkspaceRow } from './model.js';

export async function insertWorkspace(db: Db, workspace: { name: string; plan: string }): Promise<WorkspaceRow> {
  return returnedRow(
    await oneRow<WorkspaceRow>(db, 'insert into workspaces (id, name, plan) values (:id, :name, :plan) returning *', {
      id: uuidv7(),
      ...workspace,
    }),
  );
}

export function findWorkspace(db: Db, id: string): Promise<WorkspaceRow | null> {
  return oneRow<WorkspaceRow>(db, 'select * from workspaces where id = :id', { id });
}

/** Returns the workspace. Throws not_found. */
export async function workspaceOf(db: Db, id: string): Promise<WorkspaceRow> {
  return (await findWorkspace(db, id)) ?? missing(id);
}

function missing(id: string): never {
  throw new AppError('not_found', `There is no workspace ${id}`);
}

/** Locks the workspace until the commit, so that changes to its settings and members run one at a time. */
export function lockWorkspace(trx: Transaction, id: string): Promise<WorkspaceRow | null> {
  return oneRow<WorkspaceRow>(trx, 'select * from workspaces where id = :id for update', { id });
}

/** Locks the workspace until the commit. Throws not_found. */
export async function lockWorkspaceOrThrow(trx: Transaction, id: string): Promise<WorkspaceRow> {
  return (await lockWorkspace(trx, id)) ?? missing(id);
}

export async function updateWorkspaceConfiguration(
  db: Db,
  id: string,
  changes: Partial<WorkspaceConfiguration>,
): Promise<WorkspaceRow> {
  return returnedRow(
    await oneRow<WorkspaceRow>(
      db,
      `update workspaces set configuration = configuration || cast(:changes as jsonb), updated_at = now()
       where id = :id returning *`,
      { id, changes: JSON.stringify(changes) },
    ),
  );
}

export async function updateWorkspacePlan(db: Db, id: string, plan: string): Promise<WorkspaceRow> {
  return returnedRow(
    await oneRow<WorkspaceRow>(
      db,
      'update workspaces set plan = :plan, updated_at = now() where id = :id returning *',
      { id, plan },
    ),
  );
}
