import { v7 as uuidv7 } from 'uuid';
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

/**
 * The same, for its deletion: whoever places something in it waits for our commit, and we for theirs. Environments are
 * locked before their project.
 */
export async function lockEnvironment(
  trx: Transaction,
  workspaceId: string,
  id: string,
): Promise<EnvironmentRow | undefined> {
  return trx<EnvironmentRow>('environments').where({ id, workspace_id: workspaceId }).forUpdate().first();
}

/** Every environment of a project, for its deletion. */
export async function lockEnvironments(trx: Transaction, projectId: string): Promise<void> {
  await trx<EnvironmentRow>('environments').where({ project_id: projectId }).orderBy('id').forUpdate().select('id');
}

export async function countEnvironments(db: Db, projectId: string): Promise<number> {
  const row = await db<EnvironmentRow>('environments').where({ project_id: projectId }).count({ count: '*' }).first();
  return Number(row?.count ?? 0);
}

export interface NewEnvironment {
  workspaceId: string;
  projectId: string;
  name: string;
  protected: boolean;
}

/** Stores an environment; undefined where its project has one of that name. */
export async function insertEnvironment(trx: Transaction, input: NewEnvironment): Promise<EnvironmentRow | undefined> {
  const [row] = await trx<EnvironmentRow>('environments')
    .insert({
      id: uuidv7(),
      workspace_id: input.workspaceId,
      project_id: input.projectId,
      name: input.name,
      protected: input.protected,
    })
    .onConflict(['project_id', 'name'])
    .ignore()
    .returning('*');
  return row;
}

/** True where another environment of the project has the name. */
export async function isNameTaken(db: Db, environment: EnvironmentRow, name: string): Promise<boolean> {
  const { project_id, id } = environment;
  const other = await db<EnvironmentRow>('environments').where({ project_id, name }).whereNot({ id }).first('id');
  return other !== undefined;
}

export type EnvironmentChanges = Partial<Pick<EnvironmentRow, 'name' | 'protected'>>;

export async function updateEnvironmentRow(
  trx: Transaction,
  id: string,
  changes: EnvironmentChanges,
): Promise<EnvironmentRow | undefined> {
  const [row] = await trx<EnvironmentRow>('environments')
    .where({ id })
    .update({ ...changes, updated_at: trx.fn.now() as unknown as Date })
    .returning('*');
  return row;
}

export async function deleteEnvironmentRow(trx: Transaction, id: string): Promise<void> {
  await trx<EnvironmentRow>('environments').where({ id }).delete();
}
