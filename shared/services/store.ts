import type { Knex } from 'knex';
import { AUDIT_COLUMNS, type AuditEntry, auditValues } from '../audit/store.js';
import { type Db, returnedRow, rowsOf, type Transaction } from '../core/database/database-client.js';
import { fetchPage, type Page, type PageRequest } from '../core/database/page.js';
import { prepare, rowOfPrepared } from '../core/database/prepared.js';
import type { DeploymentState } from '../deployments/model.js';
import { SERVICE_COLUMNS, type ServiceRow } from './rows.js';
import { FROZEN } from './wanted-replicas.js';

export type ServiceView = ServiceRow & {
  environment_group_ids: string[];
  environment_protected: boolean;
  latest_deployment_id: string | null;
  latest_deployment_state: DeploymentState | null;
  latest_deployment_updated_at: Date | null;
  /** A verified domain of a service whose platform domain is disabled; otherwise null. */
  own_domain: string | null;
  preview_of: string | null;
  /** The host or node that stores a database's volume. */
  volume_host: string | null;
  /** True if the service sleeps with frozen processes, which the next request thaws. */
  frozen: boolean;
};

const OWN_DOMAIN = `case when s.configuration ->> 'platformDomainEnabled' = 'false' then
    (select n.hostname from domains n where n.service_id = s.id and n.status = 'active' and n.released_at is null
      order by n.created_at, n.id limit 1) end`;

const PREVIEW_OF = '(select p.base_id from previews p where p.service_id = s.id)';

/**
 * SQL: the name of the host or node that stores a database's volume; the host's id if no worker of the host is known,
 * and null if there is no volume.
 */
const VOLUME_HOST = `(select coalesce(v.node_name, (select w.host from workers w where w.host_id = v.host_id
    order by w.seen_at desc limit 1), cast(v.host_id as text))
  from data_servers v where v.id = s.id and v.initialized_at is not null)`;

const COLUMNS = SERVICE_COLUMNS.map((name) => `s.${name}`).join(', ');

export const SERVICE_VIEW_COLUMNS: readonly string[] = [
  ...SERVICE_COLUMNS,
  ...['environment_protected', 'latest_deployment_id', 'latest_deployment_state', 'latest_deployment_updated_at'],
  ...['own_domain', 'preview_of', 'volume_host', 'frozen', 'environment_group_ids'],
];

/** The columns of a `ServiceView` that come from other tables. */
const VIEWED = `coalesce((select e.protected from environments e where e.id = s.environment_id), false)
    as environment_protected,
  d.id as latest_deployment_id, d.status as latest_deployment_state, d.updated_at as latest_deployment_updated_at,
  ${OWN_DOMAIN} as own_domain, ${PREVIEW_OF} as preview_of, ${VOLUME_HOST} as volume_host,
  ${FROZEN} as frozen,
  array(select g.group_id from environment_group_services g where g.service_id = s.id
         order by g.created_at, g.group_id) as environment_group_ids`;

const LATEST_DEPLOYMENT = `left join lateral (
    select x.id, x.status, x.updated_at from deployments x where x.service_id = s.id
     order by x.created_at desc, x.id desc limit 1
  ) d on true`;

/** Returns an SQL query for `ServiceView` rows. The condition can refer to the service as `s`. */
export function serviceViewSql(condition: string): string {
  return `select ${COLUMNS}, ${VIEWED} from services s ${LATEST_DEPLOYMENT} where ${condition}`;
}

/** Selects services of any workspace and state. The caller adds conditions on the table `s`. */
export function serviceViews(db: Db): Knex.QueryBuilder<ServiceView> {
  return db<ServiceView>(db.raw(`(${serviceViewSql('true')}) as s`)).select('s.*');
}

const FIND_VIEW = prepare<ServiceView>(serviceViewSql('s.id = $1 and s.workspace_id = $2'));

/** Returns a service of this workspace. With `deleted`, also finds deleted services. */
export async function findServiceView(
  db: Db,
  workspaceId: string,
  id: string,
  { deleted = false } = {},
): Promise<ServiceView | undefined> {
  const view = await rowOfPrepared(db, FIND_VIEW, [id, workspaceId]);
  return view === null || (view.deleted_at !== null && !deleted) ? undefined : view;
}

/** Returns the workspace's service with this slug. Deleted services are not found. */
export async function findServiceBySlug(db: Db, workspaceId: string, slug: string): Promise<ServiceView | undefined> {
  return serviceViews(db).where('s.workspace_id', workspaceId).where('s.slug', slug).whereNull('s.deleted_at').first();
}

const LOCK = prepare<{ id: string }>(
  'select s.id from services s where s.id = $1 and s.workspace_id = $2 and s.deleted_at is null for update',
);

/**
 * Locks a service, and then reads it in a second statement. A single statement would read other tables, such as the
 * environment's protection, as they were before it waited for the lock.
 */
export async function lockServiceView(
  trx: Transaction,
  workspaceId: string,
  id: string,
): Promise<ServiceView | undefined> {
  if (!(await rowOfPrepared(trx, LOCK, [id, workspaceId]))) return undefined;
  return findServiceView(trx, workspaceId, id);
}

const LOCK_VIEW = prepare<ServiceView>(
  `${serviceViewSql('s.id = $1 and s.workspace_id = $2 and s.deleted_at is null')} for update of s`,
);

/**
 * Locks a service and reads its current row, in one statement. Other tables, such as the environment's protection, may
 * be read as they were before the wait for the lock.
 */
export async function lockServiceRow(
  trx: Transaction,
  workspaceId: string,
  id: string,
): Promise<ServiceView | undefined> {
  return (await rowOfPrepared(trx, LOCK_VIEW, [id, workspaceId])) ?? undefined;
}

const WRITE = prepare<ServiceView>(
  `with changed as (
     update services set name = $2, configuration = $3, sealed_repository = $4, project_id = $5, environment_id = $6,
                         scaled_replicas = case when $3::jsonb ->> 'scaling' = 'auto' then scaled_replicas end, updated_at = now()
      where id = $1 returning ${COLUMNS.replaceAll('s.', '')}
   )
   select ${COLUMNS}, ${VIEWED} from changed s ${LATEST_DEPLOYMENT}`,
);

/** Writes the name, configuration, project and environment of a locked service. */
export async function writeServiceRow(
  trx: Transaction,
  service: Pick<ServiceRow, 'id' | 'name' | 'configuration' | 'sealed_repository' | 'project_id' | 'environment_id'>,
): Promise<ServiceView> {
  const { id, name, configuration, sealed_repository, project_id, environment_id } = service;
  const values = [id, name, JSON.stringify(configuration), sealed_repository, project_id, environment_id];
  return returnedRow(await rowOfPrepared(trx, WRITE, values));
}

const REPLACE = prepare<ServiceView>(
  `with target as materialized (
     select s.id from services s
      where s.id = $1 and s.deleted_at is null and s.lifecycle_status <> 'deleting' and s.name = $5 and s.configuration = $6::jsonb
        and s.sealed_repository is not distinct from $7 and s.environment_id is not distinct from $8
        and s.live_deployment_id is not distinct from $22
        and coalesce((select e.protected from environments e where e.id = s.environment_id), false) = $9
        for update of s skip locked
   ), changed as (
     update services s set name = $2, configuration = $3, sealed_repository = $4, updated_at = now(),
                           scaled_replicas = case when $3::jsonb ->> 'scaling' = 'auto' then s.scaled_replicas end
       from target where s.id = target.id returning ${COLUMNS}
   ), noted as (
     insert into audit_entries (${AUDIT_COLUMNS})
     select $10::uuid, $11::uuid, $12::text, $13::uuid, $14::text, $15::uuid, $16::text, $17::text, $18::uuid, $19::text, $20::text, $21::jsonb
       from changed
   )
   select ${COLUMNS}, ${VIEWED} from changed s ${LATEST_DEPLOYMENT}`,
);

/**
 * Writes a service's name and configuration, and the audit entry, in one statement. Does not wait for a lock. Returns
 * undefined and writes nothing if the service differs from `before` or is being deleted, if another transaction is
 * changing it, or if the protection of its environment has changed.
 */
export async function replaceServiceRow(
  db: Db,
  before: ServiceView,
  after: Pick<ServiceRow, 'name' | 'configuration' | 'sealed_repository'>,
  entry: AuditEntry,
): Promise<ServiceView | undefined> {
  const values = [
    before.id,
    after.name,
    JSON.stringify(after.configuration),
    after.sealed_repository,
    before.name,
    JSON.stringify(before.configuration),
    before.sealed_repository,
    before.environment_id,
    before.environment_protected,
    ...auditValues(entry),
    before.live_deployment_id,
  ];
  return (await rowOfPrepared(db, REPLACE, values)) ?? undefined;
}

/** SQL: true if the service `s` is a preview, or a database of a preview. */
export const IS_PREVIEW = `(exists (select from previews p where p.service_id = s.id)
  or exists (select from preview_databases p where p.service_id = s.id))`;

/** Returns a workspace's services, newest first. Includes archived ones, but no previews or deleted ones. */
export async function listServiceViews(db: Db, workspaceId: string, page: PageRequest): Promise<Page<ServiceView>> {
  const services = serviceViews(db).where('s.workspace_id', workspaceId).whereNull('s.deleted_at');
  return fetchPage(services.whereRaw(`not ${IS_PREVIEW}`), 's', page);
}

export type ServiceChanges = Partial<
  Pick<ServiceRow, 'name' | 'configuration' | 'sealed_repository' | 'archived' | 'project_id' | 'environment_id'>
>;

export async function updateServiceRow(trx: Transaction, id: string, changes: ServiceChanges): Promise<void> {
  await trx<ServiceRow>('services')
    .where({ id })
    .update({ ...changes, updated_at: trx.fn.now() });
}

/** Returns the environments to which the service's environment groups are restricted. */
export async function groupEnvironments(
  db: Db,
  serviceId: string,
): Promise<{ name: string; environment_id: string }[]> {
  return rowsOf(
    db,
    `select g.name, g.environment_id from environment_group_services l join environment_groups g on g.id = l.group_id
      where l.service_id = ? and g.environment_id is not null`,
    [serviceId],
  );
}

/** Returns a service; undefined if it does not exist or is deleted. */
export async function getService(db: Db, id: string): Promise<ServiceRow | undefined> {
  return db<ServiceRow>('services').where({ id }).whereNull('deleted_at').first();
}

/** Locks a service's row until the commit and reads it. */
export async function lockService(trx: Transaction, id: string): Promise<ServiceRow | undefined> {
  return trx<ServiceRow>('services').where({ id }).whereNull('deleted_at').forUpdate().first();
}
