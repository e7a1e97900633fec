import { randomBytes, randomUUID } from 'node:crypto';
import type { Db } from '../../../shared/db/client.js';
import type { ServiceRow } from '../../../shared/db/rows.js';
import { DEFAULT_CONFIGURATION, type ServiceConfiguration } from '../../../shared/domain/configuration.js';
import type { ImageManifest } from '../../../shared/domain/image.js';
import type { ServiceKind } from '../../../shared/domain/service.js';
import type { ReleaseSpec } from '../../../workers/runtime/driver.js';

export interface ReleaseInit {
  kind?: ServiceKind | undefined;
  configuration?: Partial<ServiceConfiguration> | undefined;
  manifest: Partial<ImageManifest>;
  environmentId?: string | null;
  environment?: Record<string, string> | undefined;
}

/** A service with a deployment and an image in the tables, ready to be released: what stands there when a build is done. */
export async function storeRelease(db: Db, init: ReleaseInit): Promise<ReleaseSpec> {
  const { kind = 'web', environmentId = null, environment = {} } = init;
  const configuration = { ...DEFAULT_CONFIGURATION, ...init.configuration };
  const manifest: ImageManifest = {
    type: 'process',
    runtime: 'node',
    startCommand: '',
    workingDirectory: '',
    publishDirectory: '',
    environment: {},
    ...init.manifest,
  };
  const ids = { workspace: randomUUID(), service: randomUUID(), deployment: randomUUID(), image: randomUUID() };
  const digest = randomBytes(32).toString('hex');
  const slug = `app-${ids.service.slice(0, 8)}`;
  const stored = JSON.stringify(configuration);
  await db.raw('insert into workspaces (id, name) values (?, ?)', [ids.workspace, 'test']);
  const { rows }: { rows: ServiceRow[] } = await db.raw(
    'insert into services (id, workspace_id, name, slug, kind, configuration) values (?, ?, ?, ?, ?, ?) returning *',
    [ids.service, ids.workspace, slug, slug, kind, stored],
  );
  await db.raw(
    'insert into images (id, workspace_id, service_id, digest, manifest, size_bytes) values (?, ?, ?, ?, ?, 1)',
    [ids.image, ids.workspace, ids.service, digest, JSON.stringify(manifest)],
  );
  await db.raw(
    `insert into deployments (id, workspace_id, service_id, status, trigger, actor, configuration, sealed_variables, image_id)
     values (?, ?, ?, 'releasing', 'api', 'test', ?, '', ?)`,
    [ids.deployment, ids.workspace, ids.service, stored, ids.image],
  );
  return {
    deploymentId: ids.deployment,
    serviceId: ids.service,
    workspaceId: ids.workspace,
    userNumber: rows[0]?.user_number ?? 0,
    kind,
    slug,
    environmentId,
    configuration,
    image: { id: ids.image, digest, manifest },
    environment,
  };
}

/** Makes a release the one that serves. */
export async function goLive(db: Db, { deploymentId, serviceId }: ReleaseSpec): Promise<void> {
  await db.raw('update services set live_deployment_id = ? where id = ?', [deploymentId, serviceId]);
}
