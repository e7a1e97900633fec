import { lockUntilCommit, type Transaction } from '../core/database/database-client.js';
import { AppError } from '../core/error-registry.js';
import type { ServiceConfiguration } from '../services/configuration.js';
import { planOf } from '../services/plan-catalog.js';
import type { ServiceRow } from '../services/rows.js';
import { budgetBinds, monthlyCost, type PricedService } from './billing.js';
import type { WorkspaceRow } from './model.js';
import { workspaceConfiguration } from './model.js';
import { buildMinutes, countServices, countUsed, pricedServices, runningServices } from './plan-usage.js';
import { workspaceOf } from './store.js';

/**
 * Each check must run in the transaction that uses the capacity. All checks except that of the build minutes take a
 * lock until the commit, so that concurrent requests cannot exceed a limit together.
 */

/** Throws capacity_exceeded if the workspace has reached its plan's `workspaceLimit` of services. */
export async function assertRoomForService(trx: Transaction, workspace: WorkspaceRow): Promise<void> {
  await lockLimits(trx, workspace.id);
  const { name, workspaceLimit } = planOf(workspace.plan);
  if (workspaceLimit === undefined || (await countServices(trx, workspace.id)) < workspaceLimit) return;
  throw new AppError(
    'capacity_exceeded',
    `The plan ${name} allows ${workspaceLimit} services in a workspace, and this one has them; delete one first`,
  );
}

/** Limits that do not depend on the plan. */
const LIMITS = {
  projects: { most: 1000, text: 'projects in a workspace' },
  environments: { most: 100, text: 'environments in a project' },
  groups: { most: 500, text: 'environment groups in a workspace' },
  domains: { most: 100, text: 'domains of a service' },
  previews: { most: 20, text: 'previews of a service' },
  workspacePreviews: { most: 100, text: 'previews in a workspace' },
  deployments: { most: 2000, text: 'deployments that wait or run in a workspace' },
} as const;

/** Throws `capacity_exceeded` if the owner has reached a limit. The owner is a workspace, a project or a service. */
export async function assertRoomFor(trx: Transaction, what: keyof typeof LIMITS, ownerId: string): Promise<void> {
  await lockLimits(trx, ownerId);
  const { most, text } = LIMITS[what];
  if ((await countUsed(trx, what, ownerId)) < most) return;
  throw new AppError('capacity_exceeded', `There are ${most} ${text} already, which is the most there can be`);
}

/** Throws capacity_exceeded if the month's build minutes are used up, unless overages are allowed. */
export async function assertBuildMinutesLeft(trx: Transaction, workspace: WorkspaceRow): Promise<void> {
  const { name, buildMinutes: limit } = planOf(workspace.plan);
  if (limit === undefined || workspaceConfiguration(workspace.configuration).allowOverages) return;
  if ((await buildMinutes(trx, workspace.id)) < limit) return;
  throw new AppError(
    'capacity_exceeded',
    `The ${limit} build minutes that the plan ${name} includes are used up for this month; allow overages to go on`,
  );
}

/** Throws billing_required if the service would raise the estimated cost above the workspace's budget. */
export async function assertWithinBudget(
  trx: Transaction,
  service: ServiceRow,
  configuration: Pick<ServiceConfiguration, 'plan' | 'replicas'>,
  workspace?: WorkspaceRow,
): Promise<void> {
  const excess = await budgetExcess(trx, service, { kind: service.kind, ...configuration }, workspace);
  if (excess === null) return;
  throw new AppError(
    'billing_required',
    `The services of this workspace would cost an estimated ${excess.cost} ${excess.currency} a month, past its budget of ${excess.budget}; ` +
      'choose a smaller plan, delete a service, or let an admin raise the budget or allow overages',
  );
}

/** Returns the maximum number of replicas within the budget, from `least` to `most`. `least` is always allowed. */
export async function affordableReplicas(
  trx: Transaction,
  service: ServiceRow,
  { plan, least, most }: { plan: ServiceConfiguration['plan']; least: number; most: number },
): Promise<number> {
  for (let replicas = most; replicas > least; replicas--) {
    if ((await budgetExcess(trx, service, { kind: service.kind, plan, replicas })) === null) return replicas;
  }
  return least;
}

/**
 * Returns the estimated cost and the budget if the service would raise the cost above the budget. Returns null
 * otherwise, and for a budget that does not limit deployments.
 */
async function budgetExcess(
  trx: Transaction,
  service: ServiceRow,
  wanted: PricedService,
  workspace?: WorkspaceRow,
): Promise<{ cost: number; budget: number; currency: string } | null> {
  const { configuration } = workspace ?? (await workspaceOf(trx, service.workspace_id));
  const settings = workspaceConfiguration(configuration);
  if (!budgetBinds(settings)) return null;
  const { budget, currency } = settings;
  if (monthlyCost([wanted], currency) <= monthlyCost(await runningServices(trx, service), currency)) return null;

  await lockLimits(trx, service.workspace_id);
  const others = (await pricedServices(trx, service.workspace_id)).filter(({ id }) => id !== service.id);
  const cost = monthlyCost([...others, wanted], currency);
  return cost <= budget ? null : { cost, budget, currency };
}

function lockLimits(trx: Transaction, ownerId: string): Promise<void> {
  return lockUntilCommit(trx, `ranvier.limits:${ownerId}`);
}
