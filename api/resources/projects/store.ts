import type { Db, Transaction } from '../../../shared/core/database/database-client.js';
import { fetchPage, type Page, type PageRequest } from '../../../shared/core/database/page.js';
import type { EnvironmentRow } from '../../../shared/environments/store.js';

export const PROJECT_COLORS = ['violet', 'blue', 'cyan', 'green', 'yellow', 'orange', 'red', 'pink', 'gray'] as const;
type ProjectColor = (typeof PROJECT_COLORS)[number];

export interface ProjectRow {
  id: string;
  workspace_id: string;
  name: string;
  description: string;
  color: ProjectColor;
  created_at: Date;
  updated_at: Date;
}

export type ProjectView = ProjectRow & { environments: EnvironmentRow[] };

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
