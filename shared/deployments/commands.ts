import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../core/database/database-client.js';
import { AppError, conflict } from '../core/error-registry.js';
import { prepareDataServer } from '../data/commands.js';
import { getImage } from '../images/store.js';
import { assertNotRestoring } from '../operations/commands.js';
import { derivePreview } from '../previews/derive-preview.js';
import { withPreviewDatabases } from '../previews/own-databases.js';
import { touchPreview } from '../previews/store.js';
import type { CommandDeps } from '../secrets/command-deps.js';
import { SEALED } from '../secrets/sealed-columns.js';
import type { ServiceConfiguration } from '../services/configuration.js';
import { isDataKind } from '../services/model.js';
import { resealAddress } from '../services/repository-address.js';
import type { ServiceRow } from '../services/rows.js';
import { lockService } from '../services/store.js';
import { replicasOfRelease } from '../services/wanted-replicas.js';
import { NO_VARIABLES, type ResolveInput, resolveVariables } from '../variables/resolve-variables.js';
import { assertSnapshotUsable, storeSnapshot } from '../variables/snapshots.js';
import { type WorkspaceRow, workspaceConfiguration } from '../workspaces/model.js';
import { workspaceOf } from '../workspaces/store.js';
import { assertBuildMinutesLeft, assertRoomFor, assertWithinBudget } from '../workspaces/workspace-limits.js';
import type { DeploymentTrigger } from './model.js';
import type { DeploymentRow } from './rows.js';
import { assertSource } from './source-check.js';
import { cancelOpenDeployments, type DeploymentKey, findKeyHolder, getDeployment, insertDeployment } from './store.js';

export interface QueueDeploymentInput {
  id?: string;
  service: Pick<ServiceRow, 'id'>;
  /** The service's row, if the caller has locked it. */
  locked?: ServiceRow;
  actor: string;
  trigger: DeploymentTrigger;
  branch?: string;
  commitSha?: string;
  clearCache?: boolean;
  /** The id of the stack's change, if the deployments of that change go live together. */
  togetherId?: string | null;
  traceparent?: string | null;
  idempotency?: DeploymentKey | null;
  /** Called before a variable of a protected environment is read. Throws if the user may not read it. */
  authorize: ResolveInput['authorize'];
}

/**
 * Stores a queued deployment with a sealed snapshot of its variables (specification, Deployments). A preview gets the
 * configuration and variables of its base service. Throws not_found, hosting_disabled, service_archived, conflict,
 * source_invalid, idempotency_legacy_conflict, capacity_exceeded, billing_required, and errors of `resolveVariables`.
 */
export async function queueDeployment(
  trx: Transaction,
  deps: CommandDeps,
  input: QueueDeploymentInput,
): Promise<DeploymentRow> {
  const locked = await lockDeployable(trx, deps, input.service.id, input.locked);
  const { service, variables, commitSha, preview } = await derivePreview(trx, deps, locked, input);
  const configuration: ServiceConfiguration = { ...service.configuration };
  if (input.branch !== undefined) configuration.branch = input.branch;
  await assertSource(trx, deps, service, configuration, commitSha);
  await assertKeyUnused(trx, input.idempotency);
  const workspace = await workspaceOf(trx, service.workspace_id);
  await assertBuildMinutesLeft(trx, workspace);
  await makeRoom(trx, service, configuration, workspace);

  await prepareDataServer(trx, deps.keyring, service, configuration);
  const id = input.id ?? uuidv7();
  const { authorize, actor } = input;
  const found = variables ? await resolveVariables(trx, deps, { service, variables, authorize }) : NO_VARIABLES;
  const deploy = (database: ServiceRow) =>
    queueDeployment(trx, deps, { service: database, locked: database, actor, trigger: 'create', authorize });
  const resolved = preview
    ? await withPreviewDatabases(trx, deps, { ...preview, preview: service, resolved: found, actor, deploy })
    : found;
  return insertDeployment(trx, {
    id,
    workspace_id: service.workspace_id,
    service_id: service.id,
    trigger: input.trigger,
    actor: input.actor,
    branch: configuration.branch,
    commit_sha: commitSha ?? '',
    clear_cache: input.clearCache ?? false,
    together_id: input.togetherId ?? null,
    traceparent: input.traceparent ?? null,
    configuration,
    snapshot_id: await storeSnapshot(trx, deps.keyring, { serviceId: service.id, deploymentId: id, resolved }),
    variable_names: Object.keys(resolved.values).sort(),
    sealed_repository: resealAddress(deps.keyring, {
      from: SEALED.repository,
      row: service,
      to: SEALED.deploymentRepository,
      id,
    }),
    ...keyColumns(input.idempotency),
  });
}

function keyColumns(idempotency: DeploymentKey | null | undefined) {
  return { idempotency_scope: idempotency?.scope ?? null, idempotency_key: idempotency?.key ?? null };
}

async function lockDeployable(
  trx: Transaction,
  deps: CommandDeps,
  serviceId: string,
  locked?: ServiceRow,
): Promise<ServiceRow> {
  if (!deps.config.hostingEnabled) throw new AppError('hosting_disabled');
  const service = locked ?? (await lockService(trx, serviceId));
  if (!service) throw new AppError('not_found');
  if (service.lifecycle_status === 'deleting') throw conflict('The service is being deleted');
  if (service.archived) throw new AppError('service_archived');
  await assertNotRestoring(trx, serviceId);
  return service;
}

/**
 * Throws idempotency_legacy_conflict if a deployment was made with this key. A repeated request comes here only after
 * its stored response has expired; until then, it gets that response.
 */
async function assertKeyUnused(trx: Transaction, idempotency: DeploymentKey | null | undefined): Promise<void> {
  if (!idempotency) return;
  const holder = await findKeyHolder(trx, idempotency);
  if (holder) {
    throw new AppError(
      'idempotency_legacy_conflict',
      `Deployment ${holder.id} was made with this key; look at it first`,
    );
  }
}

/**
 * Throws billing_required or capacity_exceeded if the deployment would exceed the workspace's limits. If the workspace
 * is configured so, cancels the unfinished deployments of the service.
 */
async function makeRoom(
  trx: Transaction,
  service: ServiceRow,
  configuration: ServiceConfiguration,
  workspace: WorkspaceRow,
): Promise<void> {
  const replicas = replicasOfRelease(service, configuration);
  await assertWithinBudget(trx, service, { plan: configuration.plan, replicas }, workspace);
  await assertRoomFor(trx, 'deployments', service.workspace_id);
  const { overlappingDeploys } = workspaceConfiguration(workspace.configuration);
  if (overlappingDeploys === 'cancel') await cancelOpenDeployments(trx, { serviceId: service.id });
}

export interface QueueRollbackInput
  extends Pick<QueueDeploymentInput, 'service' | 'actor' | 'togetherId' | 'traceparent' | 'idempotency' | 'authorize'> {
  source: DeploymentRow;
}

/**
 * Queues a deployment that rolls back to an earlier release (specification, Rollback rules). It needs no build minutes,
 * because it reuses the image of the source deployment. Throws conflict if that deployment never went live or its image
 * was deleted. Throws the errors of `authorize` if a variable comes from a protected environment. Also throws
 * not_found, hosting_disabled, service_archived, idempotency_legacy_conflict, capacity_exceeded and billing_required.
 */
export async function queueRollback(
  trx: Transaction,
  deps: CommandDeps,
  {
    service: { id: serviceId },
    source,
    actor,
    togetherId = null,
    traceparent = null,
    idempotency,
    authorize,
  }: QueueRollbackInput,
): Promise<DeploymentRow> {
  const service = await lockDeployable(trx, deps, serviceId);
  if (isDataKind(service.kind)) {
    throw conflict('A database is not rolled back: change its configuration and deploy it, or restore a backup');
  }
  const image = source.image_id ? await getImage(trx, source.image_id) : undefined;
  if (source.service_id !== service.id || source.status !== 'live' || !image) {
    throw conflict('Only a deployment of this service that went live can be rolled back to');
  }
  if (image.removed_at) throw conflict('The image of this deployment is no longer retained');
  await assertKeyUnused(trx, idempotency);
  await makeRoom(trx, service, source.configuration, await workspaceOf(trx, service.workspace_id));
  await assertSnapshotUsable(trx, deps.keyring, source, authorize);
  await touchPreview(trx, service.id);

  const id = uuidv7();
  return insertDeployment(trx, {
    id,
    workspace_id: service.workspace_id,
    service_id: service.id,
    trigger: 'rollback',
    actor,
    branch: source.branch,
    commit_sha: source.commit_sha,
    commit_message: source.commit_message,
    source_deployment_id: source.id,
    together_id: togetherId,
    traceparent,
    configuration: source.configuration,
    snapshot_id: source.snapshot_id,
    variable_names: source.variable_names,
    sealed_repository: resealAddress(deps.keyring, {
      from: SEALED.deploymentRepository,
      row: source,
      to: SEALED.deploymentRepository,
      id,
    }),
    image_id: image.id,
    ...keyColumns(idempotency),
  });
}

/**
 * Requests the cancellation of a deployment (specification, Deployment status). Once the transaction commits, the
 * deployment cannot go live. Throws not_found, deployment_terminal.
 */
export async function requestCancel(
  trx: Transaction,
  { serviceId, deploymentId }: { serviceId: string; deploymentId: string },
): Promise<void> {
  if ((await cancelOpenDeployments(trx, { serviceId, deploymentId })) > 0) return;
  const deployment = await getDeployment(trx, deploymentId);
  if (deployment?.service_id !== serviceId) throw new AppError('not_found');
  throw new AppError('deployment_terminal', `The deployment cannot be cancelled any more: it is ${deployment.status}`);
}
