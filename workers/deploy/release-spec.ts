import { snapshotContext } from '../../shared/commands/queue-deployment.js';
import { deploymentAddressContext } from '../../shared/commands/repository-address.js';
import type { Db } from '../../shared/db/client.js';
import { getDeployment } from '../../shared/db/deployments.js';
import { getImage } from '../../shared/db/images.js';
import type { DeploymentRow } from '../../shared/db/rows.js';
import { getService } from '../../shared/db/service-lifecycle.js';
import type { Keyring } from '../../shared/secrets/keyring.js';
import { ReleaseError, type ReleaseSpec } from '../runtime/driver.js';

/** The variables a deployment was queued with, in clear. Throws `SealError`. */
export function openVariables(keyring: Keyring, deployment: DeploymentRow): Record<string, string> {
  return JSON.parse(keyring.open(deployment.sealed_variables, snapshotContext(deployment.id)));
}

/** The address of a deployment's repository with its secret. Throws `SealError`. */
export function openRepository(keyring: Keyring, { id, configuration, sealed_repository }: DeploymentRow): string {
  if (sealed_repository === null) return configuration.repository;
  return keyring.open(sealed_repository, deploymentAddressContext(id));
}

/** What a runtime needs to run a deployment's release. Throws `ReleaseError` where there is nothing to run. */
export async function loadReleaseSpec(db: Db, keyring: Keyring, deploymentId: string): Promise<ReleaseSpec> {
  const deployment = await getDeployment(db, deploymentId);
  const service = deployment && (await getService(db, deployment.service_id));
  const image = deployment?.image_id ? await getImage(db, deployment.image_id) : undefined;
  if (!deployment || !service || !image) throw new ReleaseError(`deployment ${deploymentId} has no image to run`);
  return {
    deploymentId,
    serviceId: service.id,
    workspaceId: service.workspace_id,
    userNumber: service.user_number,
    kind: service.kind,
    slug: service.slug,
    environmentId: service.environment_id,
    configuration: { ...deployment.configuration, repository: openRepository(keyring, deployment) },
    image: { id: image.id, digest: image.digest, manifest: image.manifest },
    environment: { ...image.manifest.environment, ...openVariables(keyring, deployment) },
  };
}
