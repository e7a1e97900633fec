import { randomBytes } from 'node:crypto';
import { lockUntilCommit, oneRow, type Transaction } from '../core/database/client.js';
import type { ServiceConfiguration } from './configuration.js';
import { type ServiceKind, slugOf } from './model.js';
import type { ServiceRow } from './rows.js';
import { assertUserLeft } from './user-numbers.js';

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
const SLUG_REST_DAYS = 30;

/**
 * Stores a service under its name's slug, with a suffix if that is reserved or taken. Another workspace's slug counts as taken for
 * 30 days after its deletion. Throws capacity_exceeded.
 */
export async function insertService(trx: Transaction, { reservedSlugs, ...input }: NewService): Promise<ServiceRow> {
  await assertUserLeft(trx, input.workspaceId);
  for (let attempt = 0; attempt < SLUG_TRIES; attempt++) {
    const slug = slugOf(input.name, attempt === 0 ? '' : randomSuffix());
    if (reservedSlugs.has(slug)) continue;
    await lockSlug(trx, slug);
    const row = await oneRow<ServiceRow>(
      trx,
      `insert into services (id, workspace_id, project_id, environment_id, name, slug, kind, configuration, sealed_repository)
       select cast(:id as uuid), cast(:workspaceId as uuid), cast(:projectId as uuid), cast(:environmentId as uuid),
              :name, :slug, :kind, cast(:configuration as jsonb), cast(:sealedRepository as bytea)
        where not exists (select from services
                           where slug = :slug
                             and (deleted_at is null or workspace_id <> cast(:workspaceId as uuid)
                                                        and deleted_at > now() - make_interval(days => ${SLUG_REST_DAYS})))
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

/** Locks a slug until the transaction ends: only one transaction at a time takes or releases it. */
export async function lockSlug(trx: Transaction, slug: string): Promise<void> {
  await lockUntilCommit(trx, `ranvier.slug:${slug}`);
}
