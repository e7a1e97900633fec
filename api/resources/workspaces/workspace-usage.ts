import type { Db } from '../../../shared/core/database/database-client.js';
import type { PricedService } from '../../../shared/workspaces/billing.js';
import { alertsOfMonth, type BudgetAlert } from '../../../shared/workspaces/budget-alert-store.js';
import { type PlanUsage, planUsage, pricedServices } from '../../../shared/workspaces/plan-usage.js';

/** How much of its plan and budget a workspace uses. */
export interface WorkspaceUsage {
  plan: PlanUsage;
  priced: readonly PricedService[];
  alerts: readonly BudgetAlert[];
}

export async function readUsage(db: Db, workspaceId: string): Promise<WorkspaceUsage> {
  return {
    plan: await planUsage(db, workspaceId),
    priced: await pricedServices(db, workspaceId),
    alerts: await alertsOfMonth(db, workspaceId),
  };
}
