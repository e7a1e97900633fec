import type { Transaction } from '../../../shared/core/database/database-client.js';
import { AppError } from '../../../shared/core/error-registry.js';
import { assertRoomFor } from '../../../shared/workspaces/workspace-limits.js';
import { insertEnvironment, lockEnvironments } from '../environments/store.js';
import { FIRST_ENVIRONMENT } from './model.js';
import { prepareRemoval } from './place-contents.js';
import {
  deleteProjectRow,
  insertProject,
  lockProject,
  type NewProject,
  type ProjectChanges,
  updateProjectRow,
} from './store.js';

/** Creates a project with an environment (specification, Projects). Returns its id. Throws capacity_exceeded. */
export async function createProject(trx: Transaction, input: NewProject): Promise<string> {
  await assertRoomFor(trx, 'projects', input.workspaceId);
  const projectId = await insertProject(trx, { ...input, name: input.name.trim() });
  const { workspaceId } = input;
  await insertEnvironment(trx, { workspaceId, projectId, name: FIRST_ENVIRONMENT, protected: false });
  return projectId;
}

export interface ProjectInput {
  workspaceId: string;
  projectId: string;
}

/** Changes fields of a project. Throws not_found. */
export async function updateProject(
  trx: Transaction,
  { workspaceId, projectId, changes }: ProjectInput & { changes: ProjectChanges },
): Promise<void> {
  const name = changes.name?.trim();
  if (!(await updateProjectRow(trx, workspaceId, projectId, { ...changes, name }))) throw new AppError('not_found');
}

/** Deletes an empty project and its environments. Throws not_found; conflict that names its services and groups. */
export async function deleteProject(trx: Transaction, { workspaceId, projectId }: ProjectInput): Promise<void> {
  await lockEnvironments(trx, projectId);
  const project = await lockProject(trx, workspaceId, projectId);
  if (!project) throw new AppError('not_found');
  await prepareRemoval(trx, `The project "${project.name}"`, { projectId });
  await deleteProjectRow(trx, projectId);
}
