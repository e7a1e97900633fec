import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../db/client.js';
import { cancelOpenDeployments, findKeyHolder, insertDeployment } from '../db/deployments.js';
import { findWorkspace } from '../db/identity.js';
import type { DeploymentRow, ServiceRow } from '../db/rows.js';
import { lockService } from '../db/service-lifecycle.js';
import type { ServiceConfiguration } from '../domain/configuration.js';
import type { DeploymentTrigger } from '../domain/deployment.js';
import { imageProblem, parseImage } from '../domain/image-reference.js';
import { isDeployable } from '../domain/service.js';
import { isImageSource, repositoryProblem } from '../domain/source.js';
import { workspaceConfiguration } from '../domain/workspace.js';
import { AppError } from '../errors.js';
import type { CommandDeps } from './deps.js';
import { assertBuildMinutesLeft, assertWithinBudget } from './limits.js';
import { findRegistry } from './registries.js';
import { deploymentAddressContext, resealAddress, serviceAddressContext } from './repository-address.js';
import { resolveVariables } from './resolve-variables.js';

/** A keyed request keeps its key on the deployment for good (specification, idempotency_legacy_conflict). */
export interface DeploymentKey {
  scope: string;
  key: string;
}

export interface QueueDeploymentInput {
  service: Pick<ServiceRow, 'id'>;
  actor: string;
  trigger: DeploymentTrigger;
  branch?: string;
  commitSha?: string;
  clearCache?: boolean;
  idempotency?: DeploymentKey | null;
}

/**
 * Stores a durable deployment with status `queued` (specification, Deployments): the configuration and the variables as
 * they are now, sealed. Under `overlappingDeploys: cancel` it requests the cancellation of the service's older ones.
 * Throws hosting_disabled, service_archived, conflict, source_invalid, idempotency_legacy_conflict, capacity_exceeded,
 * billing_required.
 */
export async function queueDeployment(
  trx: Transaction,
  deps: CommandDeps,
  input: QueueDeploymentInput,
): Promise<DeploymentRow> {
  const service = await lockDeployable(trx, deps, input.service.id);
  const configuration: ServiceConfiguration = { ...service.configuration };
  if (input.branch !== undefined) configuration.branch = input.branch;
  await assertSource(trx, deps, service, configuration);
  await assertKeyUnused(trx, input.idempotency);
  await assertBuildMinutesLeft(trx, service.workspace_id);
  await assertWithinBudget(trx, service, configuration);
  await applyOverlap(trx, service);

  const id = uuidv7();
  const variables = await resolveVariables(trx, deps, service);
  return insertDeployment(trx, {
    id,
    workspaceId: service.workspace_id,
    serviceId: service.id,
    trigger: input.trigger,
    actor: input.actor,
    branch: configuration.branch,
    commitSha: input.commitSha ?? '',
    commitMessage: '',
    clearCache: input.clearCache ?? false,
    sourceDeploymentId: null,
    configuration,
    sealedVariables: deps.keyring.seal(JSON.stringify(variables), snapshotContext(id)),
    sealedRepository: resealAddress(
      deps.keyring,
      service.sealed_repository,
      serviceAddressContext(service.id),
      deploymentAddressContext(id),
    ),
    imageId: null,
    idempotency: input.idempotency ?? null,
  });
}

/** The context that binds a deployment's secret snapshot to its row. */
export function snapshotContext(deploymentId: string): string {
  return `deployment:${deploymentId}`;
}

/** The service, locked, where a deployment of it may be queued at all. */
export async function lockDeployable(trx: Transaction, deps: CommandDeps, serviceId: string): Promise<ServiceRow> {
  if (!deps.config.hostingEnabled) throw new AppError('hosting_disabled');
  const service = await lockService(trx, serviceId);
  if (!service) throw new AppError('not_found');
  if (service.lifecycle_status === 'deleting') throw new AppError('conflict', 'The service is being deleted');
  if (service.archived) throw new AppError('service_archived');
  return service;
}

/** Throws idempotency_legacy_conflict where a deployment holds this key but its receipt is gone. */
export async function assertKeyUnused(trx: Transaction, idempotency: DeploymentKey | null | undefined): Promise<void> {
  if (!idempotency) return;
  const holder = await findKeyHolder(trx, idempotency);
  if (holder) {
    throw new AppError(
      'idempotency_legacy_conflict',
      `Deployment ${holder.id} was made with this key; look at it first`,
    );
  }
}

/** Under `overlappingDeploys: cancel` a newer deployment cancels the older ones of its service; under `wait` it queues. */
export async function applyOverlap(trx: Transaction, service: ServiceRow): Promise<void> {
  const workspace = await findWorkspace(trx, service.workspace_id);
  const { overlappingDeploys } = workspaceConfiguration(workspace?.configuration ?? {});
  if (overlappingDeploys === 'cancel') await cancelOpenDeployments(trx, { serviceId: service.id });
}

async function assertSource(
  trx: Transaction,
  deps: CommandDeps,
  service: ServiceRow,
  configuration: ServiceConfiguration,
): Promise<void> {
  if (!isDeployable(service.kind)) {
    throw new AppError('source_invalid', `Services of kind ${service.kind} cannot be deployed by this installation`);
  }
  const isImage = isImageSource(configuration);
  if (deps.config.runtime === 'process' && (isImage || configuration.buildMethod === 'dockerfile')) {
    throw invalidSource(
      'buildMethod',
      'Dockerfile and image sources need a container runtime; this installation runs RUNTIME=process',
    );
  }
  const registry = await registryOf(trx, deps, service, configuration);
  if (isImage) return assertImage(deps, configuration, registry);
  const problem = repositoryProblem(configuration.repository, deps.config.allowLocalRepositories);
  if (problem) throw invalidSource('repository', problem);
}

/** The registry that the configuration names; null where it names none or this runtime needs none. */
async function registryOf(
  trx: Transaction,
  { config }: CommandDeps,
  service: ServiceRow,
  { registryId }: ServiceConfiguration,
): Promise<string | null> {
  if (registryId === '' || config.runtime === 'process') return null;
  const registry = await findRegistry(trx, service.workspace_id, registryId);
  if (!registry) throw invalidSource('registryId', 'names no registry of this workspace');
  return registry.server;
}

function assertImage({ config }: CommandDeps, { image }: ServiceConfiguration, registry: string | null): void {
  const reference = parseImage(image);
  const policy = { allowLocal: config.allowLocalRepositories, ownPrefix: null };
  const problem = imageProblem(image, policy, registry !== null && registry === reference?.registry);
  if (problem) throw invalidSource('image', problem);
  if (registry !== null && registry !== reference?.registry) {
    throw invalidSource('registryId', `is for ${registry}, but the image is at ${reference?.registry}`);
  }
}

function invalidSource(field: keyof ServiceConfiguration, message: string): AppError {
  return new AppError('source_invalid', undefined, [{ path: `configuration.${field}`, message }]);
}
