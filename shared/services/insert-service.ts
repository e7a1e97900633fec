import { randomBytes } from 'node:crypto';
import { lockUntilCommit, oneRow, type Transaction } from '../core/database/database-client.js';
import { slugOf } from './model.js';
import type { ServiceRow } from './rows.js';
import { assertUserLeft } from './user-numbers.js';

export type NewService = Pick<
  ServiceRow,
  'id' | 'workspace_id' | 'project_id' | 'environment_id' | 'name' | 'kind' | 'configuration' | 'sealed_repository'
>;

const SLUG_TRIES = 10;

/**
 * Number of days for which no other workspace can take the slug of a deleted service. Links to the slug and visitors'
 * cookies outlive the service.
 */
const SLUG_REST_DAYS = 30;

/**
 * Stores a service. Its slug is derived from its name, with a suffix if the plain slug is reserved or taken. Throws
 * capacity_exceeded if the workspace has too many services.
 */
export async function insertService(
  trx: Transaction,
  service: NewService,
  reserved: ReadonlySet<string>,
): Promise<ServiceRow> {
  await assertUserLeft(trx, service.workspace_id);
  for (let attempt = 0; attempt < SLUG_TRIES; attempt++) {
    const slug = slugOf(service.name, attempt === 0 ? '' : randomSuffix());
    if (reserved.has(slug)) continue;
    await lockSlug(trx, slug);
    const row = await oneRow<ServiceRow>(
      trx,
      `insert into services (id, workspace_id, project_id, environment_id, name, slug, kind, configuration, sealed_repository)
       select cast(:id as uuid), cast(:workspace_id as uuid), cast(:project_id as uuid), cast(:environment_id as uuid),
              :name, :slug, :kind, cast(:configuration as jsonb), cast(:sealed_repository as bytea)
        where not exists (select from services
                           where slug = :slug
                             and (deleted_at is null or workspace_id <> cast(:workspace_id as uuid)
                                                        and deleted_at > now() - make_interval(days => ${SLUG_REST_DAYS})))
       on conflict (slug) where deleted_at is null do nothing returning *`,
      { ...service, slug, configuration: JSON.stringify(service.configuration) },
    );
    if (row) return row;
  }
  throw new Error(`no free slug was found for the name "${service.name}"`);
}

function randomSuffix(): string {
  return Array.from(randomBytes(6), (byte) => (byte % 36).toString(36)).join('');
}

/** Locks a slug until the commit, so that only one transaction at a time takes or frees it. */
export async function lockSlug(trx: Transaction, slug: string): Promise<void> {
  await lockUntilCommit(trx, `ranvier.slug:${slug}`);
}
