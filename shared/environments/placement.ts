import type { Transaction } from '../core/database/database-client.js';
import { invalidRequest } from '../core/error-registry.js';
import { shareLockEnvironment } from './store.js';

/** Either both are set or both are null (specification, Create rules 1). */
export interface Placement {
  projectId: string | null;
  environmentId: string | null;
}

/**
 * Checks that the environment belongs to the project, and locks it against deletion. Throws invalid_request, and errors
 * of `authorize`.
 */
export async function assertPlacement(
  trx: Transaction,
  workspaceId: string,
  { projectId, environmentId }: Placement,
  authorize: (facts: { protectedEnvironment: boolean }) => void,
): Promise<void> {
  if (projectId === null && environmentId === null) return;
  if (projectId === null) throw invalidRequest('/projectId', 'is needed with environmentId');
  if (environmentId === null) throw invalidRequest('/environmentId', 'is needed with projectId');
  const environment = await shareLockEnvironment(trx, workspaceId, environmentId);
  if (environment?.project_id !== projectId.toLowerCase()) {
    throw invalidRequest('/environmentId', 'is not an environment of this project');
  }
  authorize({ protectedEnvironment: environment.protected });
}
