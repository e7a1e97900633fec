import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import type { ServiceConfiguration } from '../domain/configuration.js';
import type { DeploymentStatus } from '../domain/deployment.js';
import { type ServiceKind, slugOf } from '../domain/service.js';
import { type Db, rowsOf, type Transaction } from './client.js';
import { fetchPage, type Page, type PageRequest } from './page.js';
import type { ServiceRow } from './rows.js';

/** A service with what its presenter and its policies need from other tables. */
export type ServiceView = ServiceRow & {
  environment_group_ids: string[];
  environment_protected: boolean;
  latest_deployment_id: string | null;
  latest_deployment_status: DeploymentStatus | null;
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
      'd.status as latest_deployment_status',
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
 * The same, for a change of it: whoever else wants that waits for our commit, so that what is found here, its environment's
 * protection above all, still holds when the change is written.
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
}

const SLUG_TRIES = 10;

/** Stores a service under a slug that no other has: its name's, or where that is taken, one with a suffix. */
export async function insertService(trx: Transaction, input: NewService): Promise<ServiceRow> {
  for (let attempt = 0; attempt < SLUG_TRIES; attempt++) {
    const slug = slugOf(input.name, attempt === 0 ? '' : randomSuffix());
    const [row] = await rowsOf<ServiceRow>(
      trx,
      `insert into services (id, workspace_id, project_id, environment_id, name, slug, kind, configuration, sealed_repository)
       values (:id, :workspaceId, :projectId, :environmentId, :name, :slug, :kind, :configuration, :sealedRepository)
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
