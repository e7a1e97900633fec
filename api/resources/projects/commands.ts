import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../../../shared/core/database/database-client.js';
import { AppError } from '../../../shared/core/error-registry.js';
import { assertRoomFor } from '../../../shared/workspaces/workspace-limits.js';
import { insertEnvironment, lockEnvironments } from '../environments/store.js';
import { prepareRemoval } from './place-contents.js';
import { lockProject, type ProjectRow } from './store.js';

/** Name of the environment with which a project is created (specification, Projects). */
const FIRST_ENVIRONMENT = 'Production';

type ProjectFields = Pick<ProjectRow, 'name' | 'description' | 'color'>;

/**
 * Creates a project with an environment (specification, Projects). Returns the project's id. Throws capacity_exceeded.
 */
export async function createProject(
  trx: Transaction,
  { workspaceId, name, ...fields }: ProjectFields & { workspaceId: string },
): Promise<string> {
  await assertRoomFor(trx, 'projects', workspaceId);
  const id = uuidv7();
  await trx<ProjectRow>('projects').insert({ id, workspace_id: workspaceId, name: name.trim(), ...fields });
  await insertEnvironment(trx, { workspaceId, projectId: id, name: FIRST_ENVIRONMENT, protected: false });
  return id;
}

interface ProjectInput {
  workspaceId: string;
  projectId: string;
}

export async function updateProject(
  trx: Transaction,
  { workspaceId, projectId, changes }: ProjectInput & { changes: Partial<ProjectFields> },
): Promise<void> {
  const updated = await trx<ProjectRow>('projects')
    .where({ id: projectId, workspace_id: workspaceId })
    .update({ ...changes, name: changes.name?.trim(), updated_at: trx.fn.now() });
  if (updated === 0) throw new AppError('not_found');
}

/** Deletes a project and its environments. Throws not_found, and conflict if it still has services or groups. */
export async function deleteProject(trx: Transaction, { workspaceId, projectId }: ProjectInput): Promise<void> {
  await lockEnvironments(trx, projectId);
  const project = await lockProject(trx, workspaceId, projectId);
  if (!project) throw new AppError('not_found');
  await prepareRemoval(trx, `The project "${project.name}"`, { projectId });
  await trx<ProjectRow>('projects').where({ id: projectId }).delete();
}
