import type { AuditEntry } from '../audit/store.js';
import type { Db, Transaction } from '../core/database/database-client.js';
import { AppError, conflict, invalidRequest } from '../core/error-registry.js';
import { assertFitsData } from '../data/commands.js';
import { assertPlacement, type Placement } from '../environments/placement.js';
import { queueRouting } from '../operations/commands.js';
import { movePreviews } from '../previews/store.js';
import type { CommandDeps } from '../secrets/command-deps.js';
import type { Keyring } from '../secrets/keyring.js';
import {
  changedRoutingFields,
  configurationProblems,
  type PartialServiceConfiguration,
} from '../services/configuration.js';
import { isDataKind, type ServiceKind } from '../services/model.js';
import { sealAddress } from '../services/repository-address.js';
import type { ServiceRow } from '../services/rows.js';
import { maskedRepository } from '../services/service-source.js';
import { groupEnvironments, replaceServiceRow, type ServiceView, writeServiceRow } from '../services/store.js';
import { wantedReplicas } from '../services/wanted-replicas.js';
import { assertFitsVolumes, concernsVolumes } from '../volumes/commands.js';
import { assertWithinBudget } from '../workspaces/workspace-limits.js';

export interface UpdateServiceInput {
  /** The caller must have locked this row with `lockServiceRow`. */
  service: ServiceView;
  actor: string;
  name?: string | undefined;
  kind?: ServiceKind | undefined;
  configuration?: PartialServiceConfiguration | undefined;
  placement?: Placement | undefined;
  authorize: (facts: { protectedEnvironment: boolean }) => void;
  /** Called before work is queued. Throws engine_unavailable if the queue engine cannot be reached. */
  needEngine: () => void;
}

/**
 * Merges changes into a service without deploying it (specification, Update rules). Throws not_found, conflict,
 * invalid_request, forbidden, engine_unavailable, and billing_required if more replicas would exceed the budget.
 */
export async function updateService(
  trx: Transaction,
  deps: Pick<CommandDeps, 'keyring'>,
  input: UpdateServiceInput,
): Promise<ServiceView> {
  const { service } = input;
  if (service.lifecycle_status === 'deleting') throw conflict('The service is being deleted');
  if (input.kind !== undefined && input.kind !== service.kind) {
    throw invalidRequest('/kind', `cannot change: the service is of kind ${service.kind}`);
  }
  const { configuration, sealed_repository } = mergeConfiguration(deps.keyring, service, input.configuration ?? {});
  const problems = configurationProblems(service.kind, configuration);
  if (problems.length > 0) throw new AppError('invalid_request', undefined, problems);
  await assertFitsData(trx, service, configuration);
  if (concernsVolumes(input.configuration ?? {})) await assertFitsVolumes(trx, service, configuration);

  const replicas = wantedReplicas({ ...service, configuration });
  if (replicas > wantedReplicas(service) && service.live_deployment_id !== null) {
    await assertWithinBudget(trx, service, { plan: configuration.plan, replicas });
  }

  const changed = { ...service, configuration, sealed_repository };
  if (input.name !== undefined) changed.name = input.name.trim();
  if (input.placement) {
    await assertMove(trx, service, input.placement, input.authorize);
    changed.project_id = input.placement.projectId;
    changed.environment_id = input.placement.environmentId;
  }
  const written = await writeServiceRow(trx, changed);
  if (input.placement) await movePreviews(trx, service.id, input.placement);
  // The environment may have become protected while this transaction waited for the service's lock.
  input.authorize({ protectedEnvironment: written.environment_protected });

  const rerouted = changedRoutingFields(service.configuration, configuration).length > 0;
  if (rerouted && service.live_deployment_id !== null) {
    input.needEngine();
    await queueRouting(trx, { service, actor: input.actor });
  }
  return written;
}

export interface DirectUpdate
  extends Pick<UpdateServiceInput, 'service' | 'name' | 'kind' | 'configuration' | 'authorize'> {
  audit: (changed: Pick<ServiceRow, 'id' | 'name'>) => AuditEntry | null;
}

/**
 * Updates a service with one statement. Writes nothing and returns undefined if the caller must use `updateService`,
 * because the update has further effects, must be refused or conflicts with a concurrent change. Throws forbidden.
 */
export async function updateServiceDirectly(
  db: Db,
  deps: Pick<CommandDeps, 'keyring'>,
  { service, name: given, kind, configuration: changes = {}, authorize, audit }: DirectUpdate,
): Promise<ServiceView | undefined> {
  authorize({ protectedEnvironment: service.environment_protected });
  if (service.lifecycle_status === 'deleting' || (kind !== undefined && kind !== service.kind)) return undefined;
  // `updateService` must check changes to databases and services with volumes, and refuse changes to previews.
  if (isDataKind(service.kind) || service.preview_of !== null || concernsVolumes(changes)) return undefined;
  const merged = mergeConfiguration(deps.keyring, service, changes);
  const { configuration } = merged;
  if (configurationProblems(service.kind, configuration).length > 0) return undefined;
  const isLive = service.live_deployment_id !== null;
  const moreReplicas = wantedReplicas({ ...service, configuration }) > wantedReplicas(service);
  if (isLive && (moreReplicas || changedRoutingFields(service.configuration, configuration).length > 0))
    return undefined;
  const name = given === undefined ? service.name : given.trim();
  const entry = audit({ id: service.id, name });
  return entry === null ? undefined : replaceServiceRow(db, service, { ...merged, name }, entry);
}

/** Keeps the stored repository URL if the caller sends its masked form. */
function mergeConfiguration(
  keyring: Keyring,
  service: ServiceRow,
  changes: PartialServiceConfiguration,
): Pick<ServiceRow, 'configuration' | 'sealed_repository'> {
  const { configuration: stored, sealed_repository } = service;
  const configuration = { ...stored, ...changes, repository: stored.repository };
  const given = changes.repository;
  if (given === undefined || given === maskedRepository(stored.repository)) return { configuration, sealed_repository };
  const { repository, sealed } = sealAddress(keyring, given, service.id);
  return { configuration: { ...configuration, repository }, sealed_repository: sealed };
}

/**
 * Checks that a service can move to another project and environment. Throws errors of `assertPlacement`, and conflict
 * if one of the service's groups is restricted to an environment that the service would leave.
 */
async function assertMove(
  trx: Transaction,
  service: ServiceRow,
  placement: Placement,
  authorize: UpdateServiceInput['authorize'],
): Promise<void> {
  await assertPlacement(trx, service.workspace_id, placement, authorize);
  const confined = await groupEnvironments(trx, service.id);
  const left = confined.filter((group) => group.environment_id !== placement.environmentId?.toLowerCase());
  if (left.length > 0) {
    const names = left.map(({ name }) => `"${name}"`).join(', ');
    throw conflict(`Groups of another environment are linked; unlink them from the service first: ${names}`);
  }
}
