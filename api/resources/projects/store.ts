import { v7 as uuidv7 } from 'uuid';
import type { Db, Transaction } from '../../../shared/core/database/database-client.js';
import { fetchPage, type Page, type PageRequest } from '../../../shared/core/database/page.js';
import type { EnvironmentRow } from '../../../shared/environments/store.js';
import type { ProjectColor, ProjectRow } from './model.js';

/** A project with its environments, oldest first. */
export type ProjectView = ProjectRow & { environments: EnvironmentRow[] };

/** Returns the workspace's project with this id; undefined if there is none. */
export async function findProject(db: Db, workspaceId: string, id: string): Promise<ProjectRow | undefined> {
  return db<ProjectRow>('projects').where({ id, workspace_id: workspaceId }).first();
}

/** Reads a project with a shared lock, so that it cannot be deleted before the commit. */
export async function shareLockProject(
  trx: Transaction,
  workspaceId: string,
  id: string,
): Promise<ProjectRow | undefined> {
  return trx<ProjectRow>('projects').where({ id, workspace_id: workspaceId }).forKeyShare().first();
}

/** Reads a project and locks it for a change to it or its environments. */
export async function lockProject(trx: Transaction, workspaceId: string, id: string): Promise<ProjectRow | undefined> {
  return trx<ProjectRow>('projects').where({ id, workspace_id: workspaceId }).forNoKeyUpdate().first();
}

export async function findProjectView(db: Db, workspaceId: string, id: string): Promise<ProjectView | undefined> {
  const project = await findProject(db, workspaceId, id);
  if (!project) return undefined;
  const [view] = await withEnvironments(db, [project]);
  return view;
}

/** Returns the projects of a workspace, newest first. */
export async function listProjectViews(db: Db, workspaceId: string, page: PageRequest): Promise<Page<ProjectView>> {
  const query = db<ProjectRow>('projects').where('projects.workspace_id', workspaceId);
  const { items, hasMore } = await fetchPage<ProjectRow>(query, 'projects', page);
  return { items: await withEnvironments(db, items), hasMore };
}

async function withEnvironments(db: Db, projects: ProjectRow[]): Promise<ProjectView[]> {
  const ids = projects.map(({ id }) => id);
  const environments = await db<EnvironmentRow>('environments')
    .whereRaw('project_id = any(?)', [ids])
    .orderBy(['created_at', 'id']);
  const views = new Map(projects.map((project) => [project.id, { ...project, environments: [] as EnvironmentRow[] }]));
  for (const environment of environments) views.get(environment.project_id)?.environments.push(environment);
  return [...views.values()];
}

export interface NewProject {
  workspaceId: string;
  name: string;
  color: ProjectColor;
  description: string;
}

export async function insertProject(
  trx: Transaction,
  { workspaceId, name, color, description }: NewProject,
): Promise<string> {
  const id = uuidv7();
  await trx<ProjectRow>('projects').insert({ id, workspace_id: workspaceId, name, color, description });
  return id;
}

export type ProjectChanges = Partial<Pick<ProjectRow, 'name' | 'description' | 'color'>>;

/** Changes a project. Returns false if the workspace has no such project. */
export async function updateProjectRow(
  trx: Transaction,
  workspaceId: string,
  id: string,
  changes: ProjectChanges,
): Promise<boolean> {
  const updated = await trx<ProjectRow>('projects')
    .where({ id, workspace_id: workspaceId })
    .update({ ...changes, updated_at: trx.fn.now() });
  return updated > 0;
}

/** Deletes a project and its environments. */
export async function deleteProjectRow(trx: Transaction, id: string): Promise<void> {
  await trx<ProjectRow>('projects').where({ id }).delete();
}
