import { randomBytes, scryptSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { Db } from '../../shared/core/database/database-client.js';
import type { DataServerRow } from '../../shared/data/store.js';
import type { DeploymentRow } from '../../shared/deployments/rows.js';
import { insertDeployment } from '../../shared/deployments/store.js';
import type { UserRow } from '../../shared/identity/rows.js';
import { insertUser } from '../../shared/identity/store.js';
import type { OperationKind, OperationRow } from '../../shared/operations/model.js';
import { insertOperation } from '../../shared/operations/store.js';
import type { RunRow } from '../../shared/runs/model.js';
import { DEFAULT_CONFIGURATION, type PartialServiceConfiguration } from '../../shared/services/configuration.js';
import type { ServiceKind } from '../../shared/services/model.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import { recordHeartbeat } from '../../shared/workers/store.js';
import type { WorkspaceConfiguration, WorkspaceRow } from '../../shared/workspaces/model.js';
import type { ReplicaRow } from '../../workers/replicas/rows.js';

/** Creates records for tests. Each function also creates the parent records that it needs. */

/** Returns a hash like those of real passwords, but one that takes no quarter of a second to create and to verify. */
export function cheapHash(password: string): string {
  const [cost, blockSize, parallelization] = [16, 8, 1];
  const salt = randomBytes(16);
  const key = scryptSync(password, salt, 32, { cost, blockSize, parallelization });
  return ['scrypt', cost, blockSize, parallelization, salt.toString('base64'), key.toString('base64')].join('$');
}

/** Creates a user with this password; with an unknown random one if absent. */
export async function makeUser(
  db: Db,
  { email, password = randomBytes(8).toString('hex'), verified = true }: MakeUser,
): Promise<UserRow> {
  const user = await insertUser(db, { email, passwordHash: cheapHash(password), verified });
  if (!user) throw new Error(`the user ${email} exists already`);
  return user;
}

interface MakeUser {
  email: string;
  password?: string;
  verified?: boolean;
}

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
  kind: ServiceKind = 'web',
): Promise<ServiceRow> {
  const { id: workspaceId } = workspace ?? (await makeWorkspace(db));
  const [row] = await db<ServiceRow>('services')
    .insert({
      id: uuidv7(),
      workspace_id: workspaceId,
      name: 'Service',
      slug: `service-${randomBytes(4).toString('hex')}`,
      kind,
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
      workspace_id: service.workspace_id,
      service_id: service.id,
      trigger: 'manual',
      actor: 'test',
      branch: 'main',
      configuration: service.configuration,
    }),
  );
}

/** Queues an operation on a service. */
export function makeOperation(
  db: Db,
  { id: serviceId, workspace_id: workspaceId }: ServiceRow,
  kind: OperationKind,
  backupId?: string,
): Promise<OperationRow> {
  return db.transaction((trx) => insertOperation(trx, { workspaceId, serviceId, kind, actor: 'test', backupId }));
}

/** Creates a manual run, which is not admitted. */
export async function makeRun(
  db: Db,
  { id, workspace_id }: ServiceRow,
  deploymentId: string,
  fields: Partial<RunRow> = {},
): Promise<RunRow> {
  const of = { id: uuidv7(), workspace_id, service_id: id, deployment_id: deploymentId };
  const limits = { max_retries: 0, timeout_seconds: 60, scheduled_at: new Date() };
  const [row] = await db<RunRow>('runs')
    .insert({ ...of, ...limits, trigger: 'manual', ...fields })
    .returning('*');
  if (!row) throw new Error('no run');
  return row;
}

/** Creates the first replica of a release. Returns its id. */
export async function makeReplica(
  db: Db,
  serviceId: string,
  deploymentId: string,
  fields: Partial<ReplicaRow> = {},
): Promise<string> {
  const id = uuidv7();
  const of = { id, service_id: serviceId, deployment_id: deploymentId };
  await db<ReplicaRow>('replicas').insert({ ...of, host_id: uuidv7(), generation: 1, position: 1, ...fields });
  return id;
}

/** Creates the server of a Redis. */
export async function makeDataServer(
  db: Db,
  serviceId: string,
  fields: Partial<DataServerRow> = {},
): Promise<DataServerRow> {
  const names = { kind: 'redis' as const, version: '', database_name: '', user_name: 'default' };
  const [row] = await db<DataServerRow>('data_servers')
    .insert({ id: serviceId, ...names, ...fields })
    .returning('*');
  if (!row) throw new Error('no server');
  return row;
}

/** Creates an online worker with this number of deployment slots. */
export async function makeWorker(db: Db, slots: number): Promise<string> {
  const id = uuidv7();
  await recordHeartbeat(db, {
    id,
    host: 'test',
    host_id: uuidv7(),
    pid: 1,
    version: '0',
    queues: ['deploy'],
    deploy_slots: slots,
    run_slots: slots,
    network_isolation: false,
    runs_images: false,
    mounts_volumes: true,
    measures_usage: false,
    enters_replicas: false,
    data_kinds: [],
    running: [],
    event_loop_p99_ms: 0,
  });
  return id;
}
