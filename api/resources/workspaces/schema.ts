import { type Static, Type } from '@sinclair/typebox';
import { ROLES } from '../../../shared/domain/roles.js';
import { PartialWorkspaceConfigurationSchema, WorkspaceConfigurationSchema } from '../../../shared/domain/workspace.js';
import { oneOf, Strict, Uuid } from '../../schema.js';

export const WorkspaceSchema = Strict(
  {
    id: Uuid,
    name: Type.String(),
    plan: Type.String(),
    role: oneOf(ROLES),
    billing: Strict({ currency: Type.String(), budget: Type.Number(), allowOverages: Type.Boolean() }),
    entitlements: Strict({ buildConcurrency: Type.Integer(), logDays: Type.Number() }),
    configuration: WorkspaceConfigurationSchema,
  },
  'Workspace',
);
export type WorkspaceView = Static<typeof WorkspaceSchema>;

export const WorkspaceResponse = Strict({ workspace: WorkspaceSchema });
export const UpdateWorkspaceBody = Strict({ configuration: PartialWorkspaceConfigurationSchema });
