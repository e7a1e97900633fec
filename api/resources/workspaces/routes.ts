import { workspacesOf } from '../../../shared/identity/store.js';
import { defineRoute } from '../../http/route.js';
import { updateWorkspace } from './commands.js';
import { presentWorkspace, readUsage } from './present.js';
import { UpdateWorkspaceBody, WorkspaceListResponse, WorkspaceResponse } from './schema.js';

export const workspaceRoutes = [
  defineRoute('GET', '/workspaces', 'workspace.list', {
    summary: 'List workspaces',
    description: 'The workspaces of the caller, oldest first. A key has one.',
    response: WorkspaceListResponse,
    handler: async ({ db, caller }) => {
      const all = await workspacesOf(db, caller.userId);
      const seen = all.filter(
        ({ id, needs_provider }) =>
          (caller.workspaceId === null || caller.workspaceId === id) && !(needs_provider && caller.byPassword),
      );
      return { workspaces: seen.map(({ id, name, plan, role }) => ({ id, name, plan, role })) };
    },
  }),
  defineRoute('GET', '/workspaces/:workspaceId', 'workspace.read', {
    summary: 'Read a workspace',
    description: 'Settings, estimated costs and usage of the workspace.',
    response: WorkspaceResponse,
    handler: async ({ db, workspace: { row, role } }) => ({
      workspace: presentWorkspace(row, role, await readUsage(db, row.id)),
    }),
  }),
  defineRoute('PATCH', '/workspaces/:workspaceId', 'workspace.update', {
    summary: 'Update a workspace',
    description: 'Changes the settings that are given; the others stay. A key cannot switch allowOverages on.',
    body: UpdateWorkspaceBody,
    example: { configuration: { budget: 50, overlappingDeploys: 'wait' } },
    response: WorkspaceResponse,
    handler: async ({ trx, caller, workspace: { row, role }, body }) => {
      const mayConsent = caller.kind === 'session';
      const updated = await updateWorkspace(trx, { workspaceId: row.id, changes: body.configuration, mayConsent });
      return { workspace: presentWorkspace(updated, role, await readUsage(trx, row.id)) };
    },
  }),
];
