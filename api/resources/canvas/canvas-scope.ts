import type { Static } from 'typebox';
import type { Db } from '../../../shared/core/database/database-client.js';
import { AppError, invalidRequest } from '../../../shared/core/error-registry.js';
import { findEnvironment } from '../../../shared/environments/store.js';
import { findProject } from '../projects/store.js';
import type { CanvasScope } from './model.js';
import type { CanvasQuery } from './schema.js';

interface ScopeRequest {
  db: Db;
  params: { workspaceId: string };
  query: Static<typeof CanvasQuery>;
}

/**
 * Returns the workspace, project or environment that the query selects. Throws not_found; invalid_request if the
 * environment is not in the project.
 */
export async function readScope({ db, params: { workspaceId }, query }: ScopeRequest): Promise<CanvasScope> {
  if (query.projectId === undefined) {
    if (query.environmentId !== undefined) throw invalidRequest('query.projectId', 'is needed with environmentId');
    return { workspaceId, projectId: null, environmentId: null };
  }
  const project = await findProject(db, workspaceId, query.projectId);
  if (!project) throw new AppError('not_found');
  if (query.environmentId === undefined) return { workspaceId, projectId: project.id, environmentId: null };
  const environment = await findEnvironment(db, workspaceId, query.environmentId);
  if (!environment) throw new AppError('not_found');
  if (environment.project_id !== project.id)
    throw invalidRequest('query.environmentId', 'is no environment of this project');
  return { workspaceId, projectId: project.id, environmentId: environment.id };
}
