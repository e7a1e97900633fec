import type { Static } from '@sinclair/typebox';
import type { Db } from '../../../shared/db/client.js';
import { findEnvironment } from '../../../shared/db/environments.js';
import { findProject } from '../../../shared/db/projects.js';
import type { CanvasScope } from '../../../shared/domain/canvas.js';
import { AppError, invalidRequest } from '../../../shared/errors.js';
import type { CanvasQuery } from './schema.js';

interface ScopeRequest {
  db: Db;
  params: { workspaceId: string };
  query: Static<typeof CanvasQuery>;
}

/** What the query asks to see. Throws not_found, and invalid_request where the environment is not of the project. */
export async function loadScope({ db, params: { workspaceId }, query }: ScopeRequest): Promise<CanvasScope> {
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
