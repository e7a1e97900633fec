import { alertsOfMonth, type BudgetAlert } from '../../../shared/db/budget-alerts.js';
import type { Db } from '../../../shared/db/client.js';
import { type PlanUsage, planUsage, pricedServices } from '../../../shared/db/usage.js';
import type { PricedService } from '../../../shared/domain/billing.js';

/** What a workspace uses of its plan and of its budget. */
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
