import { type Static, Type } from 'typebox';
import { ROLES } from '../../../shared/identity/policy.js';
import { PartialWorkspaceConfigurationSchema, WorkspaceConfigurationSchema } from '../../../shared/workspaces/model.js';
import { Nullable, oneOf, Strict, Timestamp, Uuid } from '../../http/schema.js';

/** `limit` is null if the plan has no limit. */
const Allowance = Strict({ used: Type.Number(), limit: Nullable(Type.Number()) });

export const WorkspaceSchema = Strict(
  {
    id: Uuid,
    name: Type.String(),
    plan: Type.String(),
    role: oneOf('Role', ROLES),
    /** Money is in `currency`. An alert is sent when `threshold` percent of the budget are used. */
    billing: Strict({
      currency: Type.String(),
      budget: Type.Number(),
      allowOverages: Type.Boolean(),
      estimatedMonthly: Type.Number(),
      budgetUsedPercent: Nullable(Type.Number()),
      alerts: Type.Array(Strict({ threshold: Type.Integer(), sentAt: Nullable(Timestamp) })),
    }),
    /** Limits of the plan, and current usage. Build minutes are counted from the first day of the month (UTC). */
    entitlements: Strict({
      services: Allowance,
      buildMinutes: Allowance,
      buildConcurrency: Type.Integer(),
      logDays: Type.Number(),
    }),
    configuration: WorkspaceConfigurationSchema,
  },
  'Workspace',
);
export type WorkspaceView = Static<typeof WorkspaceSchema>;

export const WorkspaceResponse = Strict({ workspace: WorkspaceSchema });
/** The list omits billing and usage, which are only in the response for a single workspace. */
export const WorkspaceListResponse = Strict({
  workspaces: Type.Array(Strict({ id: Uuid, name: Type.String(), plan: Type.String(), role: oneOf('Role', ROLES) })),
});
export const UpdateWorkspaceBody = Strict({ configuration: PartialWorkspaceConfigurationSchema });
