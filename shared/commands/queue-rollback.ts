import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../db/client.js';
import { insertDeployment } from '../db/deployments.js';
import { getImage } from '../db/images.js';
import type { DeploymentRow, ServiceRow } from '../db/rows.js';
import { AppError } from '../errors.js';
import { SealError } from '../secrets/keyring.js';
import type { CommandDeps } from './deps.js';
import { assertWithinBudget } from './limits.js';
import {
  applyOverlap,
  assertKeyUnused,
  type DeploymentKey,
  lockDeployable,
  snapshotContext,
} from './queue-deployment.js';
import { deploymentAddressContext, resealAddress } from './repository-address.js';

export interface QueueRollbackInput {
  service: Pick<ServiceRow, 'id'>;
  source: DeploymentRow;
  actor: string;
  idempotency?: DeploymentKey | null;
}

/**
 * Queues a new deployment of an earlier release (specification, Rollback rules): the source's image, configuration and
 * secret snapshot, sealed again for the new record. Throws conflict where the source never went live or its image is gone,
 * billing_required. A rollback builds nothing, so that it needs no build minutes.
 */
export async function queueRollback(
  trx: Transaction,
  deps: CommandDeps,
  { service: { id: serviceId }, source, actor, idempotency }: QueueRollbackInput,
): Promise<DeploymentRow> {
  const service = await lockDeployable(trx, deps, serviceId);
  const image = source.image_id ? await getImage(trx, source.image_id) : undefined;
  if (source.service_id !== service.id || source.status !== 'live' || !image) {
    throw new AppError('conflict', 'Only a deployment of this service that went live can be rolled back to');
  }
  if (image.removed_at) throw new AppError('conflict', 'The image of this deployment is no longer retained');
  await assertKeyUnused(trx, idempotency);
  await assertWithinBudget(trx, service, source.configuration);
  await applyOverlap(trx, service);

  const id = uuidv7();
  const variables = openSnapshot(deps, source);
  return insertDeployment(trx, {
    id,
    workspaceId: service.workspace_id,
    serviceId: service.id,
    trigger: 'rollback',
    actor,
    branch: source.branch,
    commitSha: source.commit_sha,
    commitMessage: source.commit_message,
    clearCache: false,
    sourceDeploymentId: source.id,
    configuration: source.configuration,
    sealedVariables: deps.keyring.seal(variables, snapshotContext(id)),
    sealedRepository: resealAddress(
      deps.keyring,
      source.sealed_repository,
      deploymentAddressContext(source.id),
      deploymentAddressContext(id),
    ),
    imageId: image.id,
    idempotency: idempotency ?? null,
  });
}

function openSnapshot({ keyring }: CommandDeps, source: DeploymentRow): string {
  try {
    return keyring.open(source.sealed_variables, snapshotContext(source.id));
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    throw new AppError('conflict', `The variables of this deployment cannot be opened: ${error.message}`);
  }
}
