import { updateWorkspace } from '../../../shared/workspaces/commands.js';
import { defineRoute } from '../../http/route.js';
import { presentWorkspace } from './present.js';
import { UpdateWorkspaceBody, WorkspaceResponse } from './schema.js';
import { readUsage } from './workspace-usage.js';

export const workspaceRoutes = [
  defineRoute({
    method: 'GET',
    path: '/workspaces/:workspaceId',
    access: 'key or session',
    operation: 'workspace.read',
    summary: 'Read the workspace',
    response: WorkspaceResponse,
    handler: async ({ db, workspace: { row, role } }) => ({
      workspace: presentWorkspace(row, role, await readUsage(db, row.id)),
    }),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/workspaces/:workspaceId',
    access: 'key or session',
    operation: 'workspace.update',
    summary: 'Change settings of the workspace',
    body: UpdateWorkspaceBody,
    response: WorkspaceResponse,
    handler: async ({ trx, caller, workspace: { row, role }, body }) => {
      const mayConsent = caller.kind === 'session';
      const updated = await updateWorkspace(trx, { workspaceId: row.id, changes: body.configuration, mayConsent });
      return { workspace: presentWorkspace(updated, role, await readUsage(trx, row.id)) };
    },
  }),
];
