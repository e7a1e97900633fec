import type { Db } from '../../../shared/db/client.js';
import { findProjectView, type ProjectView } from '../../../shared/db/projects.js';
import { AppError } from '../../../shared/errors.js';

/** A project of this workspace. Throws not_found. */
export async function loadProject(db: Db, workspaceId: string, id: string): Promise<ProjectView> {
  const project = await findProjectView(db, workspaceId, id);
  if (!project) throw new AppError('not_found');
  return project;
}
