import type { Db } from '../../../shared/core/database/database-client.js';
import type { Role } from '../../../shared/identity/policy.js';
import { planOf } from '../../../shared/services/plan-catalog.js';
import { budgetUsedPercent, monthlyCost, type PricedService } from '../../../shared/workspaces/billing.js';
import { alertsOfMonth, type BudgetAlert } from '../../../shared/workspaces/budget-alert-store.js';
import { type WorkspaceRow, workspaceConfiguration } from '../../../shared/workspaces/model.js';
import { type PlanUsage, planUsage, pricedServices } from '../../../shared/workspaces/plan-usage.js';
import type { WorkspaceView } from './schema.js';

interface WorkspaceUsage {
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

export function presentWorkspace(row: WorkspaceRow, role: Role, usage: WorkspaceUsage): WorkspaceView {
  const configuration = workspaceConfiguration(row.configuration);
  const { currency, budget, allowOverages, buildConcurrency } = configuration;
  const plan = planOf(row.plan);
  const estimatedMonthly = monthlyCost(usage.priced, currency);
  return {
    id: row.id,
    name: row.name,
    plan: row.plan,
    role,
    billing: {
      currency,
      budget,
      allowOverages,
      estimatedMonthly,
      budgetUsedPercent: budgetUsedPercent(estimatedMonthly, budget),
      alerts: usage.alerts.map((alert) => ({
        threshold: alert.threshold,
        sentAt: alert.sent_at?.toISOString() ?? null,
      })),
    },
    entitlements: {
      services: { used: usage.plan.services, limit: plan.workspaceLimit ?? null },
      buildMinutes: { used: Math.round(usage.plan.buildMinutes * 10) / 10, limit: plan.buildMinutes ?? null },
      buildConcurrency,
      logDays: plan.logDays,
    },
    configuration,
  };
}
