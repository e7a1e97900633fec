import { v7 as uuidv7 } from 'uuid';
import { type Db, oneRow, type Transaction, theRow } from '../core/database/database-client.js';
import { AppError } from '../core/error-registry.js';
import type { WorkspaceConfiguration, WorkspaceRow } from './model.js';

export function insertWorkspace(db: Db, workspace: { name: string; plan: string }): Promise<WorkspaceRow> {
  const insert = 'insert into workspaces (id, name, plan) values (:id, :name, :plan) returning *';
  return theRow<WorkspaceRow>(db, insert, { id: uuidv7(), ...workspace });
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

export function updateWorkspaceConfiguration(
  db: Db,
  id: string,
  changes: Partial<WorkspaceConfiguration>,
): Promise<WorkspaceRow> {
  return theRow<WorkspaceRow>(
    db,
    `update workspaces set configuration = configuration || cast(:changes as jsonb), updated_at = now()
      where id = :id returning *`,
    { id, changes: JSON.stringify(changes) },
  );
}

export function updateWorkspacePlan(db: Db, id: string, plan: string): Promise<WorkspaceRow> {
  const update = 'update workspaces set plan = :plan, updated_at = now() where id = :id returning *';
  return theRow<WorkspaceRow>(db, update, { id, plan });
}
