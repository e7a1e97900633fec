import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { Db } from '../../shared/db/client.js';
import { insertDeployment } from '../../shared/db/deployments.js';
import type { DeploymentRow, ServiceRow, WorkspaceRow } from '../../shared/db/rows.js';
import { beat } from '../../shared/db/workers.js';
import { DEFAULT_CONFIGURATION, type PartialServiceConfiguration } from '../../shared/domain/configuration.js';
import type { WorkspaceConfiguration } from '../../shared/domain/workspace.js';

/** Records for tests of what stands on them; each makes the parents it needs. */
export async function makeWorkspace(
  db: Db,
  configuration: Partial<WorkspaceConfiguration> = {},
): Promise<WorkspaceRow> {
  const [row] = await db<WorkspaceRow>('workspaces')
    .insert({ id: uuidv7(), name: 'Workspace', configuration })
    .returning('*');
  if (!row) throw new Error('no workspace');
  return row;
}

export async function makeService(
  db: Db,
  workspace?: WorkspaceRow,
  configuration: PartialServiceConfiguration = {},
): Promise<ServiceRow> {
  const { id: workspaceId } = workspace ?? (await makeWorkspace(db));
  const [row] = await db<ServiceRow>('services')
    .insert({
      id: uuidv7(),
      workspace_id: workspaceId,
      name: 'Service',
      slug: `service-${randomBytes(4).toString('hex')}`,
      kind: 'web',
      configuration: { ...DEFAULT_CONFIGURATION, ...configuration },
    })
    .returning('*');
  if (!row) throw new Error('no service');
  return row;
}

export async function makeDeployment(db: Db, service: ServiceRow): Promise<DeploymentRow> {
  return db.transaction((trx) =>
    insertDeployment(trx, {
      id: uuidv7(),
      workspaceId: service.workspace_id,
      serviceId: service.id,
      trigger: 'manual',
      actor: 'test',
      branch: 'main',
      commitSha: '',
      commitMessage: '',
      clearCache: false,
      sourceDeploymentId: null,
      configuration: service.configuration,
      sealedVariables: Buffer.alloc(0),
      sealedRepository: null,
      imageId: null,
      idempotency: null,
    }),
  );
}

/** A worker that says it is online, with so many deployment slots. */
export async function makeWorker(db: Db, slots: number): Promise<string> {
  const id = uuidv7();
  await beat(db, {
    id,
    host: 'test',
    host_id: uuidv7(),
    pid: 1,
    version: '0',
    queues: ['deploy'],
    deploy_slots: slots,
    running: [],
  });
  return id;
}
