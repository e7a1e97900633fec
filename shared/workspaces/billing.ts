import type { ServiceKind } from '../services/model.js';
import { estimatedMonthly } from '../services/plan-catalog.js';
import type { WorkspaceConfiguration } from './model.js';

export interface PricedService {
  kind: ServiceKind;
  plan: string;
  replicas: number;
}

/** Percentages of the budget at which an alert is sent, each at most once a month. */
const ALERT_THRESHOLDS = [80, 100] as const;

/** Returns the estimated total cost of these services per month, in this currency. */
export function monthlyCost(services: readonly PricedService[], currency: WorkspaceConfiguration['currency']): number {
  const price = currency === 'NGN' ? 'ngn' : 'usd';
  return services.reduce((sum, { kind, plan, replicas }) => sum + estimatedMonthly(kind, plan, replicas)[price], 0);
}

/** Returns true if the budget limits deployments: it is above 0, and overages are not allowed. */
export function budgetBinds({ budget, allowOverages }: Pick<WorkspaceConfiguration, 'budget' | 'allowOverages'>) {
  return budget > 0 && !allowOverages;
}

/** Returns how much of the budget the cost uses, in percent with one decimal; null without a budget. */
export function budgetUsedPercent(cost: number, budget: number): number | null {
  return budget > 0 ? Math.round((cost / budget) * 1000) / 10 : null;
}

/** Returns the alert thresholds that the cost has reached; empty without a budget. */
export function reachedThresholds(cost: number, budget: number): number[] {
  return budget > 0 ? ALERT_THRESHOLDS.filter((threshold) => cost * 100 >= budget * threshold) : [];
}

/**
 * Returns true if a change of settings may allow higher costs. That includes a new currency, and the first budget:
 * costs were unlimited before, but a budget states an amount that may be spent.
 */
export function consentsToPayment(before: WorkspaceConfiguration, after: WorkspaceConfiguration): boolean {
  const lifted = after.budget === 0 && before.budget > 0;
  const revalued = after.budget > 0 && after.currency !== before.currency;
  return (after.allowOverages && !before.allowOverages) || after.budget > before.budget || lifted || revalued;
}
