import { lockUntilCommit, type Transaction } from '../db/client.js';
import { getDeployment } from '../db/deployments.js';
import { findWorkspace } from '../db/identity.js';
import type { ServiceRow, WorkspaceRow } from '../db/rows.js';
import { buildMinutes, countServices, pricedServices } from '../db/usage.js';
import { budgetBinds, monthlyCost, type PricedService } from '../domain/billing.js';
import { planOf } from '../domain/catalog.js';
import type { ServiceConfiguration } from '../domain/configuration.js';
import { workspaceConfiguration } from '../domain/workspace.js';
import { AppError } from '../errors.js';

/**
 * What a workspace's plan and budget leave room for. These run in the transaction that uses the room, and the next one of
 * the workspace waits for its commit, so that two requests cannot both take the last of it.
 */

/** Throws capacity_exceeded where the plan's `workspaceLimit` is reached; services that are not deleted count. */
export async function assertRoomForService(trx: Transaction, workspace: WorkspaceRow): Promise<void> {
  await lockLimits(trx, workspace.id);
  const { name, workspaceLimit } = planOf(workspace.plan);
  if (workspaceLimit === undefined || (await countServices(trx, workspace.id)) < workspaceLimit) return;
  throw new AppError(
    'capacity_exceeded',
    `The plan ${name} allows ${workspaceLimit} services in a workspace, and this one has them; delete one first`,
  );
}

/** Throws capacity_exceeded where this month's builds have used the plan's minutes up and overages are not allowed. */
export async function assertBuildMinutesLeft(trx: Transaction, workspaceId: string): Promise<void> {
  const workspace = await workspaceOf(trx, workspaceId);
  const { name, buildMinutes: limit } = planOf(workspace.plan);
  if (limit === undefined || workspaceConfiguration(workspace.configuration).allowOverages) return;
  if ((await buildMinutes(trx, workspaceId)) < limit) return;
  throw new AppError(
    'capacity_exceeded',
    `The ${limit} build minutes that the plan ${name} includes are used up for this month; allow overages to go on`,
  );
}

/**
 * Throws billing_required where running the service with this configuration takes the estimated costs of the workspace
 * past its budget. What costs nothing passes always, and so does what costs no more than it does already.
 */
export async function assertWithinBudget(
  trx: Transaction,
  service: ServiceRow,
  configuration: Pick<ServiceConfiguration, 'plan' | 'replicas'>,
): Promise<void> {
  const settings = workspaceConfiguration((await workspaceOf(trx, service.workspace_id)).configuration);
  if (!budgetBinds(settings)) return;
  const { budget, currency } = settings;
  const wanted: PricedService = { kind: service.kind, plan: configuration.plan, replicas: configuration.replicas };
  if (monthlyCost([wanted], currency) <= monthlyCost(await running(trx, service), currency)) return;

  await lockLimits(trx, service.workspace_id);
  const others = (await pricedServices(trx, service.workspace_id)).filter(({ id }) => id !== service.id);
  const cost = monthlyCost([...others, wanted], currency);
  if (cost <= budget) return;
  throw new AppError(
    'billing_required',
    `The services of this workspace would cost an estimated ${cost} ${currency} a month, past its budget of ${budget}; ` +
      'choose a smaller plan, delete a service, or let an admin raise the budget or allow overages',
  );
}

/** What the service runs now: the plan is that of its release, and replicas follow its configuration at once. */
async function running(trx: Transaction, service: ServiceRow): Promise<PricedService[]> {
  const release = service.live_deployment_id && (await getDeployment(trx, service.live_deployment_id));
  if (!release) return [];
  return [{ kind: service.kind, plan: release.configuration.plan, replicas: service.configuration.replicas }];
}

async function workspaceOf(trx: Transaction, id: string): Promise<WorkspaceRow> {
  const workspace = await findWorkspace(trx, id);
  if (!workspace) throw new AppError('not_found');
  return workspace;
}

function lockLimits(trx: Transaction, workspaceId: string): Promise<void> {
  return lockUntilCommit(trx, `ranvier.limits:${workspaceId}`);
}
