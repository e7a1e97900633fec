import { type Static, Type } from '@sinclair/typebox';
import { ROLES } from '../../../shared/domain/roles.js';
import { PartialWorkspaceConfigurationSchema, WorkspaceConfigurationSchema } from '../../../shared/domain/workspace.js';
import { Nullable, oneOf, Strict, Timestamp, Uuid } from '../../schema.js';

/** `limit` is null where the plan sets no bound. */
const Allowance = Strict({ used: Type.Number(), limit: Nullable(Type.Number()) });

export const WorkspaceSchema = Strict(
  {
    id: Uuid,
    name: Type.String(),
    plan: Type.String(),
    role: oneOf(ROLES),
    /** In `currency`. `budgetUsedPercent` is null where no budget is set; `alerts` are those of this month. */
    billing: Strict({
      currency: Type.String(),
      budget: Type.Number(),
      allowOverages: Type.Boolean(),
      estimatedMonthly: Type.Number(),
      budgetUsedPercent: Nullable(Type.Number()),
      alerts: Type.Array(Strict({ threshold: Type.Integer(), sentAt: Nullable(Timestamp) })),
    }),
    /** What the plan allows and what is used of it; build minutes are those of this month (UTC). */
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
export const UpdateWorkspaceBody = Strict({ configuration: PartialWorkspaceConfigurationSchema });
