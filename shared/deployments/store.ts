import type { Knex } from 'knex';
import { anyRow, type Db, returnedRow, type Transaction } from '../core/database/database-client.js';
import { CHANNELS } from '../core/database/listener.js';
import { fetchPage, type Page, type PageRequest } from '../core/database/page.js';
import { prepare, rowsOfPrepared } from '../core/database/prepared.js';
import { failOpen, moveOpen, requestCancel } from '../engine/cancel-requests.js';
import { DEPLOYMENTS } from './kind.js';
import type { StepRecord } from './model.js';
import type { DeploymentRow } from './rows.js';

export type NewDeployment = Partial<DeploymentRow> &
  Pick<DeploymentRow, 'id' | 'workspace_id' | 'service_id' | 'trigger' | 'actor' | 'branch' | 'configuration'>;

/** Stores a queued deployment, whose first step starts immediately. */
export async function insertDeployment(trx: Transaction, deployment: NewDeployment): Promise<DeploymentRow> {
  const now = new Date();
  const steps: StepRecord[] = [{ name: 'queued', startedAt: now.toISOString(), finishedAt: null }];
  const [row] = await trx<DeploymentRow>('deployments')
    .insert({
      ...deployment,
      steps: JSON.stringify(steps) as unknown as StepRecord[],
      created_at: now,
      updated_at: now,
    })
    .returning('*');
  return returnedRow(row);
}

export async function getDeployment(db: Db, id: string): Promise<DeploymentRow | undefined> {
  return db<DeploymentRow>('deployments').where({ id }).first();
}

/** A request's Idempotency-Key, stored with the deployment permanently (specification, Errors). */
export interface DeploymentKey {
  scope: string;
  key: string;
}

/** Returns the deployment that was created with this Idempotency-Key. */
export async function findKeyHolder(db: Db, { scope, key }: DeploymentKey): Promise<{ id: string } | undefined> {
  return db<DeploymentRow>('deployments').where({ idempotency_scope: scope, idempotency_key: key }).first('id');
}

/**
 * Requests the cancellation of matching open deployments. Returns how many matched. Deployments that no worker has
 * claimed are cancelled immediately.
 */
export function cancelOpenDeployments(
  trx: Transaction,
  { serviceId, deploymentId = null }: { serviceId: string; deploymentId?: string | null },
): Promise<number> {
  return requestCancel(trx, DEPLOYMENTS, { service_id: serviceId, id: deploymentId });
}

/** Makes each deployment in `moved` the live release of its service, and notifies the edges. */
export const MOVE_ROUTES = `switched as (
  update services s
     set live_deployment_id = moved.id, lifecycle_status = 'active', health_status = 'ready', health_checked_at = now(),
         route_version = nextval('route_versions'), updated_at = now()
    from moved where s.id = moved.service_id
  returning pg_notify('${CHANNELS.route}', cast(s.id as text)))`;

/**
 * Switches the routes of all prepared deployments of a stack's change in one statement. Returns their number. The
 * caller must have locked first the services and then the deployments.
 */
export function goLiveTogether(trx: Transaction, togetherId: string): Promise<number> {
  const change = { sql: 'went_live_at = now()', after: MOVE_ROUTES };
  return moveOpen(trx, DEPLOYMENTS, { together_id: togetherId }, 'routeSwitched', change);
}

/** Marks the deployments of a stack's change as failed if they still wait for admission. */
export function failUnadmitted(trx: Transaction, togetherId: string, error: string): Promise<void> {
  return failOpen(trx, DEPLOYMENTS, { together_id: togetherId }, error, { only: 'admitted_at is null' });
}

export function hasOpenDeployment(db: Db, serviceId: string): Promise<boolean> {
  return anyRow(db, 'select from deployments where service_id = ? and finished_at is null limit 1', [serviceId]);
}

export type DeploymentView = DeploymentRow & { can_rollback: boolean };

const CAN_ROLLBACK = `(d.status = 'live' and i.id is not null and i.removed_at is null
  and s.kind not in ('postgres', 'redis')
  and not s.archived and s.lifecycle_status not in ('deleting', 'deleted')) as can_rollback`;

function views(db: Db, serviceId: string): Knex.QueryBuilder<DeploymentView> {
  return db('deployments as d')
    .join('services as s', 's.id', 'd.service_id')
    .leftJoin('images as i', 'i.id', 'd.image_id')
    .where('d.service_id', serviceId)
    .select('d.*', db.raw(CAN_ROLLBACK));
}

export async function findDeployment(db: Db, serviceId: string, id: string): Promise<DeploymentView | undefined> {
  return (await views(db, serviceId).where('d.id', id).first()) as DeploymentView | undefined;
}

/** Excludes the configuration, which is the largest part of a row. */
const LISTED = [
  'id',
  'status',
  'trigger',
  'actor',
  'branch',
  'commit_sha',
  'commit_message',
  'blocked_reason',
  'error',
  'cancel_requested_at',
  'source_deployment_id',
  'created_at',
  'started_at',
  'finished_at',
  'steps',
] as const satisfies readonly (keyof DeploymentRow)[];
export type ListedDeployment = Pick<DeploymentView, (typeof LISTED)[number] | 'can_rollback'>;

function listSql(position: string, limit: string): string {
  return `select ${LISTED.map((name) => `d.${name}`).join(', ')}, ${CAN_ROLLBACK}
    from deployments d join services s on s.id = d.service_id left join images i on i.id = d.image_id
   where d.service_id = $1 ${position} order by d.created_at desc, d.id desc limit ${limit}`;
}

const LIST_FIRST = prepare<ListedDeployment>(listSql('', '$2'));
const LIST_NEXT = prepare<ListedDeployment>(listSql('and (d.created_at, d.id) < ($3, $4)', '$2'));

export async function listDeployments(
  db: Db,
  serviceId: string,
  { limit, after }: PageRequest,
): Promise<Page<ListedDeployment>> {
  // One extra row shows whether there is a next page.
  const rows = after
    ? await rowsOfPrepared(db, LIST_NEXT, [serviceId, limit + 1, after.createdAt, after.id])
    : await rowsOfPrepared(db, LIST_FIRST, [serviceId, limit + 1]);
  return { items: rows.slice(0, limit), hasMore: rows.length > limit };
}

export type WorkspaceDeployment = ListedDeployment & { service_id: string; service_name: string };

/** Returns a workspace's deployments, newest first. Excludes deployments of deleted services. */
export async function listWorkspaceDeployments(
  db: Db,
  workspaceId: string,
  { active }: { active: boolean },
  page: PageRequest,
): Promise<Page<WorkspaceDeployment>> {
  const query: Knex.QueryBuilder<WorkspaceDeployment> = db('deployments as d')
    .join('services as s', 's.id', 'd.service_id')
    .leftJoin('images as i', 'i.id', 'd.image_id')
    .where('d.workspace_id', workspaceId)
    .whereNull('s.deleted_at')
    .select(...LISTED.map((name) => `d.${name}`), 'd.service_id', 's.name as service_name', db.raw(CAN_ROLLBACK));
  return fetchPage(active ? query.whereNull('d.finished_at') : query, 'd', page);
}
