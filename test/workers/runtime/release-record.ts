import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { Db } from '../../../shared/core/database/database-client.js';
import type { ImageManifest } from '../../../shared/images/model.js';
import type { ServiceConfiguration } from '../../../shared/services/configuration.js';
import type { ServiceKind } from '../../../shared/services/model.js';
import type { ReleaseSpec, RunAttempt } from '../../../workers/runtime/runtime-driver.js';
import { makeService } from '../../support/factories.js';
import { insertImage, newDeployment } from '../../support/records.js';

export interface ReleaseInit {
  kind?: ServiceKind | undefined;
  configuration?: Partial<ServiceConfiguration> | undefined;
  manifest: Partial<ImageManifest>;
  environmentId?: string | null;
  environment?: Record<string, string> | undefined;
}

/** Stores a service with a deployment and an image, as a finished build leaves them. */
export async function storeRelease(db: Db, init: ReleaseInit): Promise<ReleaseSpec> {
  const { environmentId = null, environment = {} } = init;
  const manifest: ImageManifest = {
    type: 'process',
    runtime: 'node',
    startCommand: '',
    workingDirectory: '',
    publishDirectory: '',
    environment: {},
    ...init.manifest,
  };
  const service = await makeService(db, undefined, init.configuration, init.kind);
  const { id: serviceId, workspace_id: workspaceId, kind, slug, configuration } = service;
  const digest = randomBytes(32).toString('hex');
  const image = await insertImage(db, { workspaceId, serviceId, digest, manifest, sizeBytes: 1 });
  const deploymentId = await newDeployment(db, serviceId, { status: 'releasing', image_id: image.id });
  return {
    deploymentId,
    serviceId,
    workspaceId,
    userNumber: service.user_number,
    kind,
    slug,
    environmentId,
    configuration,
    image: { id: image.id, digest, manifest },
    environment,
  };
}

export async function goLive(db: Db, { deploymentId, serviceId }: ReleaseSpec): Promise<void> {
  await db.raw('update services set live_deployment_id = ? where id = ?', [deploymentId, serviceId]);
}

/** Creates the first attempt of a run of the release. */
export async function storeRun(
  db: Db,
  spec: ReleaseSpec,
  timeoutMs = 60_000,
  command: string | null = null,
): Promise<RunAttempt> {
  const [run] = await db('runs')
    .insert({
      id: uuidv7(),
      workspace_id: spec.workspaceId,
      service_id: spec.serviceId,
      deployment_id: spec.deploymentId,
      trigger: 'manual',
      command,
      max_retries: 0,
      timeout_seconds: timeoutMs / 1000,
      scheduled_at: new Date(),
    })
    .returning(['id', 'number']);
  return { runId: run.id, runNumber: run.number, attempt: 1, timeoutMs };
}
