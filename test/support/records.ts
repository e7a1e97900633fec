import { v7 as uuidv7 } from 'uuid';
import type { Db } from '../../shared/core/database/database-client.js';
import { DEPLOYMENTS } from '../../shared/deployments/kind.js';
import {
  type ActiveState,
  type DeploymentEvent,
  type DeploymentState,
  isTerminal,
} from '../../shared/deployments/model.js';
import type { DeploymentRow } from '../../shared/deployments/rows.js';
import type { Lease } from '../../shared/engine/leases.js';
import { claim, transition } from '../../shared/engine/transition.js';
import type { BuiltImage } from '../../shared/images/model.js';
import { LATENCY_BOUNDS, latencyClass } from '../../shared/metrics/model.js';
import type { Keyring } from '../../shared/secrets/keyring.js';
import { getSnapshot } from '../../shared/variables/snapshot-store.js';
import { openSnapshot } from '../../shared/variables/snapshots.js';
import { changeOf, type HeldDeployment } from '../../workers/deploy/deployment-changes.js';
import { MANIFEST } from './fixtures.js';

interface TestGroup {
  id: string;
  link(serviceId: string): Promise<void>;
  unlink(serviceId: string): Promise<void>;
}

export interface TestEnvironment {
  projectId: string;
  environmentId: string;
  group(name: string): Promise<TestGroup>;
}

export async function newEnvironment(
  db: Db,
  workspaceId: string,
  options: { protected?: boolean } = {},
): Promise<TestEnvironment> {
  const projectId = uuidv7();
  const environmentId = uuidv7();
  await db('projects').insert({ id: projectId, workspace_id: workspaceId, name: 'Project', color: 'violet' });
  await db('environments').insert({
    id: environmentId,
    workspace_id: workspaceId,
    project_id: projectId,
    name: 'Production',
    protected: options.protected ?? false,
  });
  return {
    projectId,
    environmentId,
    async group(name) {
      const id = uuidv7();
      await db('environment_groups').insert({ id, workspace_id: workspaceId, environment_id: environmentId, name });
      return {
        id,
        async link(serviceId) {
          await db('environment_group_services').insert({ group_id: id, service_id: serviceId });
        },
        async unlink(serviceId) {
          await db('environment_group_services').where({ group_id: id, service_id: serviceId }).delete();
        },
      };
    },
  };
}

/** Reads the row of a table that has these values. Rejects if there is none. */
export async function readRow<Row extends object>(db: Db, table: string, where: object): Promise<Row> {
  const row = await db(table).where(where).first();
  if (!row) throw new Error(`no row of ${table} has ${JSON.stringify(where)}`);
  return row as Row;
}

/** Changes fields of the row with this id. */
export async function updateRow(db: Db, table: string, id: string | null | undefined, fields: object): Promise<void> {
  await db(table).where({ id }).update(fields);
}

/** Creates a deployment in this state, as the engine would leave it. Returns its id. */
export async function newDeployment(db: Db, serviceId: string, fields: Record<string, unknown> = {}): Promise<string> {
  const service = await db('services').where({ id: serviceId }).first();
  const id = uuidv7();
  const hasEnded = isTerminal((fields.status ?? 'queued') as DeploymentState);
  await db('deployments').insert({
    id,
    workspace_id: service.workspace_id,
    service_id: serviceId,
    trigger: 'manual',
    actor: 'test@example.com',
    configuration: service.configuration,
    finished_at: hasEnded ? db.fn.now() : null,
    ...fields,
  });
  return id;
}

/** Creates a failed deployment whose build ran between these times. A trigger counts the build time at the update. */
export async function endedBuild(db: Db, serviceId: string, startedAt: Date, finishedAt: Date): Promise<void> {
  const id = await newDeployment(db, serviceId, { status: 'building' });
  await db('deployments')
    .where({ id })
    .update({
      status: 'failed',
      finished_at: finishedAt,
      steps: JSON.stringify([{ name: 'build', startedAt, finishedAt }]),
    });
}

/** Claims a deployment for a worker. `faulty` claims it although a worker hung or crashed with it. */
export async function claimDeployment(
  db: Db,
  id: string,
  workerId: string,
  faulty = false,
): Promise<DeploymentRow | undefined> {
  return (
    (await claim<HeldDeployment>(
      db,
      DEPLOYMENTS,
      id,
      workerId,
      faulty ? { sql: 'worker_faults = worker_faults + 1' } : {},
    )) ?? undefined
  );
}

/** Applies an event to a claimed deployment in the state `from`. Returns undefined if no row changed. */
export async function applyEvent(
  db: Db,
  lease: Lease,
  from: ActiveState,
  event: DeploymentEvent | { type: 'failed'; error: string } | { type: 'cancelled' },
): Promise<HeldDeployment | undefined> {
  const change =
    event.type === 'failed' || event.type === 'cancelled'
      ? { set: { error: event.type === 'failed' ? event.error : '' } }
      : changeOf(from, event);
  return (await transition<HeldDeployment>(db, DEPLOYMENTS, lease, event.type, change)) ?? undefined;
}

/** Returns the decrypted variables with which a deployment was queued. */
export async function snapshotValues(
  db: Db,
  keyring: Keyring,
  { snapshot_id: id }: Pick<DeploymentRow, 'snapshot_id'>,
): Promise<Record<string, string>> {
  return openSnapshot(db, keyring, id === null ? null : await getSnapshot(db, id));
}

/** Creates the record of an image that a build has stored. */
export async function insertImage(
  db: Db,
  { workspaceId, serviceId, digest, manifest, sizeBytes }: BuiltImage & { workspaceId: string; serviceId: string },
): Promise<{ id: string }> {
  const id = uuidv7();
  const owner = { workspace_id: workspaceId, service_id: serviceId };
  await db('images').insert({ id, ...owner, digest, manifest: JSON.stringify(manifest), size_bytes: sizeBytes });
  return { id };
}

/** Creates a deployment with a retained image, and makes it the service's live one. Returns its id. */
export async function pretendLive(db: Db, serviceId: string, fields: Record<string, unknown> = {}): Promise<string> {
  const { workspace_id: workspaceId } = await db('services').where({ id: serviceId }).first();
  const image = await insertImage(db, { workspaceId, serviceId, digest: uuidv7(), manifest: MANIFEST, sizeBytes: 1 });
  const now = new Date();
  const id = await newDeployment(db, serviceId, {
    status: 'live',
    image_id: image.id,
    went_live_at: now,
    finished_at: now,
    ...fields,
  });
  await db('services').where({ id: serviceId }).update({
    live_deployment_id: id,
    lifecycle_status: 'active',
    health_status: 'ready',
    health_checked_at: now,
  });
  return id;
}

export const NO_EDGE_FIGURES = {
  connections: 0,
  requests: 0,
  upgraded: 0,
  failedExchanges: 0,
  closedConnections: 0,
  refusedConnections: 0,
};

/** Creates a deployment with a canary of ten minutes, in which 2 of 40 requests failed. Returns its id. */
export async function pretendCanary(db: Db, serviceId: string): Promise<string> {
  const { live_deployment_id: previous } = await db('services').where({ id: serviceId }).first();
  const step = (name: string, finishedAt: string | null) => ({ name, startedAt: new Date().toISOString(), finishedAt });
  const ended = new Date().toISOString();
  const steps = [step('queued', ended), step('build', ended), step('release', ended), step('canary', null)];
  const id = await newDeployment(db, serviceId, {
    status: 'canary',
    admitted_at: new Date(),
    started_at: new Date(),
    fence: 1,
    steps: JSON.stringify(steps),
  });
  const endsAt = new Date(Date.now() + 10 * 60_000);
  const canary = { deployment_id: id, service_id: serviceId, previous_id: previous, percent: 10, ends_at: endsAt };
  await db('canaries').insert(canary);
  const latency = [...LATENCY_BOUNDS, 0].map((_, index) => (index === latencyClass(10) ? 40 : 0));
  await db('canary_sides').insert({ deployment_id: id, side: 'new', requests: 40, errors: 2, latency });
  return id;
}
