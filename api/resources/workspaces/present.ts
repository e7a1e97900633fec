import type { WorkspaceRow } from '../../../shared/db/rows.js';
import { planOf } from '../../../shared/domain/catalog.js';
import type { Role } from '../../../shared/domain/roles.js';
import { workspaceConfiguration } from '../../../shared/domain/workspace.js';
import type { WorkspaceView } from './schema.js';

export function presentWorkspace(row: WorkspaceRow, role: Role): WorkspaceView {
  const configuration = workspaceConfiguration(row.configuration);
  return {
    id: row.id,
    name: row.name,
    plan: row.plan,
    role,
    billing: {
      currency: configuration.currency,
      budget: configuration.budget,
      allowOverages: configuration.allowOverages,
    },
    entitlements: { buildConcurrency: configuration.buildConcurrency, logDays: planOf(row.plan).logDays },
    configuration,
  };
}
