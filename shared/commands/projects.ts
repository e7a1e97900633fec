import type { Transaction } from '../db/client.js';
import { type Contents, contentsOf, displaceDeleted, type Place } from '../db/contents.js';
import { insertEnvironment, lockEnvironments } from '../db/environments.js';
import {
  deleteProjectRow,
  insertProject,
  lockProject,
  type NewProject,
  type ProjectChanges,
  updateProjectRow,
} from '../db/projects.js';
import { FIRST_ENVIRONMENT } from '../domain/project.js';
import { AppError } from '../errors.js';

/** Stores a project with its Production environment (specification, Projects). Returns its id. */
export async function createProject(trx: Transaction, input: NewProject): Promise<string> {
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

/** Deletes an empty project with its environments. Throws not_found, conflict that names what is left in it. */
export async function deleteProject(trx: Transaction, { workspaceId, projectId }: ProjectInput): Promise<void> {
  await lockEnvironments(trx, projectId);
  const project = await lockProject(trx, workspaceId, projectId);
  if (!project) throw new AppError('not_found');
  await clear(trx, `The project "${project.name}"`, { projectId });
  await deleteProjectRow(trx, projectId);
}

/** Makes ready for its removal a place that is locked. Throws conflict that names what is left in it. */
export async function clear(trx: Transaction, title: string, place: Place): Promise<void> {
  const left = describe(await contentsOf(trx, place));
  if (left) throw new AppError('conflict', `${title} is not empty: move or delete ${left} first`);
  await displaceDeleted(trx, place);
}

function describe({ services, groups }: Contents): string {
  const parts = [named('its service', services), named('its environment group', groups)];
  return parts.filter((part) => part !== '').join(' and ');
}

const MOST_NAMED = 5;

function named(noun: string, names: readonly string[]): string {
  if (names.length === 0) return '';
  const shown = names.slice(0, MOST_NAMED).map((name) => `"${name}"`);
  if (names.length > MOST_NAMED) shown.push(`${names.length - MOST_NAMED} more`);
  return `${noun}${names.length === 1 ? '' : 's'} ${shown.join(', ')}`;
}
