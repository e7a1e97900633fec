import type { Db } from '../../shared/core/database/database-client.js';
import type { DeploymentRow } from '../../shared/deployments/rows.js';
import { previewOf } from '../../shared/previews/store.js';
import { pushedAddress } from '../../shared/pushes/model.js';
import { findRun } from '../../shared/runs/store.js';
import type { Keyring } from '../../shared/secrets/keyring.js';
import { openFrom, SEALED } from '../../shared/secrets/sealed-columns.js';
import { aliasOf } from '../../shared/services/model.js';
import { isPushSource } from '../../shared/services/service-source.js';
import { replicasOfRelease } from '../../shared/services/wanted-replicas.js';
import { addressForWorkspace } from '../../shared/ssh/model.js';
import { openSnapshot } from '../../shared/variables/snapshots.js';
import { ReleaseError } from '../failures/explained-errors.js';
import type { ReleaseSpec } from '../runtime/runtime-driver.js';
import { deploymentParts } from './deployment-parts.js';
import { releaseOfRun } from './release-of-run.js';

/**
 * Returns the URL of a deployment's repository, with its credentials. Throws `SealError` if they cannot be decrypted.
 */
export async function openRepository(db: Db, keyring: Keyring, deployment: DeploymentRow): Promise<string> {
  const { id, configuration, sealed_repository } = deployment;
  if (isPushSource(configuration)) {
    const base = await previewOf(db, deployment.service_id);
    return pushedAddress({
      workspaceId: deployment.workspace_id,
      serviceId: base?.base_id ?? deployment.service_id,
    });
  }
  if (sealed_repository === null) return addressForWorkspace(configuration.repository, deployment.workspace_id);
  return openFrom(keyring, SEALED.deploymentRepository, id, sealed_repository);
}

/**
 * Loads what a runtime needs for a release, or for a run of it. Throws `ReleaseError` if the service or the image is
 * missing, and `SealError` if a secret cannot be decrypted.
 */
export async function loadReleaseSpec(
  db: Db,
  keyring: Keyring,
  deploymentId: string,
  runId: string | null = null,
): Promise<ReleaseSpec> {
  const parts = await deploymentParts(db, deploymentId);
  if (!parts?.service || !parts.image) throw new ReleaseError(`deployment ${deploymentId} has no image to run`);
  const { deployment, service, image, snapshot, hasVolumes, sharesName } = parts;
  const spec = {
    deploymentId,
    serviceId: service.id,
    workspaceId: service.workspace_id,
    userNumber: service.user_number,
    kind: service.kind,
    hasVolumes,
    slug: service.slug,
    alias: sharesName ? '' : aliasOf(service),
    environmentId: service.environment_id,
    configuration: {
      ...deployment.configuration,
      repository: await openRepository(db, keyring, deployment),
      replicas: replicasOfRelease(service, deployment.configuration),
    },
    image: { id: image.id, digest: image.digest, manifest: image.manifest },
    environment: { ...image.manifest.environment, ...(await openSnapshot(db, keyring, snapshot)) },
  };
  const run = runId === null ? undefined : await findRun(db, service.id, runId);
  return run === undefined ? spec : releaseOfRun(spec, run);
}
