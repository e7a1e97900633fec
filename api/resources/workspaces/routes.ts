import { updateWorkspace } from '../../../shared/commands/update-workspace.js';
import { defineRead, defineWrite } from '../../route.js';
import { readUsage } from './load.js';
import { presentWorkspace } from './present.js';
import { UpdateWorkspaceBody, WorkspaceResponse } from './schema.js';

export const workspaceRoutes = [
  defineRead({
    path: '/workspaces/:workspaceId',
    operation: 'workspace.read',
    summary: 'Read the workspace',
    response: WorkspaceResponse,
    handler: async ({ db, workspace: { row, role } }) => ({
      workspace: presentWorkspace(row, role, await readUsage(db, row.id)),
    }),
  }),
  defineWrite({
    method: 'PATCH',
    path: '/workspaces/:workspaceId',
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
