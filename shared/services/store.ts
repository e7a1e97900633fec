import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import { type Db, lockUntilCommit, rowsOf, type Transaction } from '../core/database/client.js';
import { fetchPage, type Page, type PageRequest } from '../core/database/page.js';
import type { DeploymentState } from '../deployments/model.js';
import type { ServiceConfiguration } from './configuration.js';
import { type ServiceKind, slugOf } from './model.js';
import type { ServiceRow } from './rows.js';

/** A service with what its presenter and its policies need from other tables. */
export type ServiceView = ServiceRow & {
  environment_group_ids: string[];
  environment_protected: boolean;
  latest_deployment_id: string | null;
  latest_deployment_state: DeploymentState | null;
  latest_deployment_updated_at: Date | null;
};

/** Services of any workspace and state, for a query to narrow down; the table is `s`. */
export function serviceViews(db: Db): Knex.QueryBuilder<ServiceView> {
  return db('services as s')
    .leftJoin('environments as e', 'e.id', 's.environment_id')
    .joinRaw(
      `left join lateral (
         select id, status, updated_at from deployments where service_id = s.id
          order by created_at desc, id desc limit 1
       ) d on true`,
    )
    .select(
      's.*',
      db.raw('coalesce(e.protected, false) as environment_protected'),
      'd.id as latest_deployment_id',
      'd.status as latest_deployment_state',
      'd.updated_at as latest_deployment_updated_at',
      db.raw(
        `array(select group_id from environment_group_services where service_id = s.id order by created_at, group_id)
           as environment_group_ids`,
      ),
    );
}

/** A service of this workspace. `deleted` finds it even after its deletion. */
export async function findServiceView(
  db: Db,
  workspaceId: string,
  id: string,
  { deleted = false } = {},
): Promise<ServiceView | undefined> {
  const query = serviceViews(db).where('s.id', id).where('s.workspace_id', workspaceId);
  if (!deleted) query.whereNull('s.deleted_at');
  return (await query.first()) as ServiceView | undefined;
}

/**
 * The same, locked for a change: what is read here, above all its environment's protection, still holds when the change
 * is written.
 */
export async function lockServiceView(
  trx: Transaction,
  workspaceId: string,
  id: string,
): Promise<ServiceView | undefined> {
  const inWorkspace = { id, workspace_id: workspaceId, deleted_at: null };
  if (!(await trx<ServiceRow>('services').where(inWorkspace).forUpdate().first('id'))) return undefined;
  return findServiceView(trx, workspaceId, id);
}

/** The services of a workspace that are not deleted, archived ones included, newest first. */
export async function listServiceViews(db: Db, workspaceId: string, page: PageRequest): Promise<Page<ServiceView>> {
  return fetchPage(serviceViews(db).where('s.workspace_id', workspaceId).whereNull('s.deleted_at'), 's', page);
}

export interface NewService {
  id: string;
  workspaceId: string;
  projectId: string | null;
  environmentId: string | null;
  name: string;
  kind: ServiceKind;
  configuration: ServiceConfiguration;
  sealedRepository: Buffer | null;
  reservedSlugs: ReadonlySet<string>;
}

const SLUG_TRIES = 10;

/**
 * Days for which only its own workspace may take the slug of a deleted service: visitors' links and cookies last that
 * long.
 */
export const SLUG_REST_DAYS = 30;

/**
 * Stores a service under its name's slug, or under one with a suffix if that is reserved, taken, or was another
 * workspace's within the last 30 days.
 */
export async function insertService(trx: Transaction, { reservedSlugs, ...input }: NewService): Promise<ServiceRow> {
  for (let attempt = 0; attempt < SLUG_TRIES; attempt++) {
    const slug = slugOf(input.name, attempt === 0 ? '' : randomSuffix());
    if (reservedSlugs.has(slug)) continue;
    await lockSlug(trx, slug);
    const [row] = await rowsOf<ServiceRow>(
      trx,
      `insert into services (id, workspace_id, project_id, environment_id, name, slug, kind, configuration, sealed_repository)
       select cast(:id as uuid), cast(:workspaceId as uuid), cast(:projectId as uuid), cast(:environmentId as uuid),
              :name, :slug, :kind, cast(:configuration as jsonb), cast(:sealedRepository as bytea)
        where not exists (select from services
                           where slug = :slug and workspace_id <> cast(:workspaceId as uuid)
                             and deleted_at > now() - make_interval(days => ${SLUG_REST_DAYS}))
       on conflict (slug) where deleted_at is null do nothing returning *`,
      { ...input, slug, configuration: JSON.stringify(input.configuration) },
    );
    if (row) return row;
  }
  throw new Error(`no free slug was found for the name "${input.name}"`);
}

/** Six characters of a–z and 0–9. */
function randomSuffix(): string {
  return Array.from(randomBytes(6), (byte) => (byte % 36).toString(36)).join('');
}

export type ServiceChanges = Partial<
  Pick<ServiceRow, 'name' | 'configuration' | 'sealed_repository' | 'archived' | 'project_id' | 'environment_id'>
>;

/** Changes what people set of a service. */
export async function updateServiceRow(trx: Transaction, id: string, changes: ServiceChanges): Promise<void> {
  await trx<ServiceRow>('services')
    .where({ id })
    .update({ ...changes, updated_at: trx.fn.now() as unknown as Date });
}

/** The environments of a service's groups that are confined to one. */
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

/** A service that exists, or undefined. */
export async function getService(db: Db, id: string): Promise<ServiceRow | undefined> {
  return db<ServiceRow>('services').where({ id }).whereNull('deleted_at').first();
}

/** Reads and locks a service for a change of its state: other such transactions wait until this one ends. */
export async function lockService(trx: Transaction, id: string): Promise<ServiceRow | undefined> {
  return trx<ServiceRow>('services').where({ id }).whereNull('deleted_at').forUpdate().first();
}

/** Locks a slug until the transaction ends: only one transaction at a time takes or releases it. */
export async function lockSlug(trx: Transaction, slug: string): Promise<void> {
  await lockUntilCommit(trx, `ranvier.slug:${slug}`);
}
