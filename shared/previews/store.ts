import { type Db, oneRow, oneValue, rowsOf, type Transaction } from '../core/database/database-client.js';
import { fetchPage, type Page, type PageRequest } from '../core/database/page.js';
import { type ServiceView, serviceViews } from '../services/store.js';
import type { PreviewFacts } from './model.js';

export interface PreviewRow {
  service_id: string;
  base_id: string;
  branch: string;
  pull_number: number | null;
  fork: boolean;
  changed_at: Date;
  closed_at: Date | null;
  closed_reason: string;
  missing_at: Date | null;
  created_at: Date;
}

export type PreviewView = ServiceView & {
  preview_branch: string;
  preview_pull_number: number | null;
  preview_changed_at: Date;
  preview_databases: { serviceId: string; originalId: string; backupId: string | null; error: string }[];
};

function previewViews(db: Db, baseId: string) {
  return serviceViews(db)
    .join('previews as p', 'p.service_id', 's.id')
    .where('p.base_id', baseId)
    .whereNull('s.deleted_at')
    .select('p.branch as preview_branch', 'p.pull_number as preview_pull_number', 'p.changed_at as preview_changed_at')
    .select(db.raw(`(${OWN_DATABASES}) as preview_databases`));
}

/** SQL: the databases created for the preview `s`, with the error of their last restore or deployment. */
const OWN_DATABASES = `select coalesce(jsonb_agg(jsonb_build_object('serviceId', o.service_id, 'originalId', o.original_id,
      'backupId', o.backup_id, 'error', coalesce(
        (select r.error from operations r where r.service_id = o.service_id and r.kind = 'restore' order by r.created_at desc limit 1),
        (select r.error from deployments r where r.service_id = o.service_id order by r.created_at desc, r.id desc limit 1), ''))
      order by o.service_id), '[]')
  from preview_databases o where o.preview_id = s.id`;

export async function listPreviews(db: Db, baseId: string, page: PageRequest): Promise<Page<PreviewView>> {
  return fetchPage<PreviewView>(previewViews(db, baseId), 's', page);
}

export async function findPreview(db: Db, baseId: string, id: string): Promise<PreviewView | undefined> {
  return previewViews(db, baseId).where('s.id', id).first();
}

/** Returns a service's row in `previews`; undefined if it is not a preview. */
export async function previewOf(db: Db, serviceId: string): Promise<PreviewRow | undefined> {
  return db<PreviewRow>('previews').where({ service_id: serviceId }).first();
}

export async function previewOfBranch(db: Db, baseId: string, branch: string): Promise<PreviewRow | undefined> {
  return db<PreviewRow>('previews').where({ base_id: baseId, branch }).first();
}

/** Returns the preview of a fork's pull request; undefined if there is none. */
export async function previewOfFork(db: Db, baseId: string, number: number): Promise<PreviewRow | undefined> {
  return db<PreviewRow>('previews').where({ base_id: baseId, pull_number: number, fork: true }).first();
}

export type NewPreview = Pick<PreviewRow, 'service_id' | 'base_id' | 'branch' | 'pull_number' | 'fork'>;

export async function insertPreview(trx: Transaction, preview: NewPreview): Promise<void> {
  await trx<PreviewRow>('previews').insert(preview);
}

/** Links a preview to a pull request. Cancels the deletion that the end of an earlier pull request requested. */
export async function linkPull(trx: Transaction, serviceId: string, number: number): Promise<void> {
  await trx<PreviewRow>('previews')
    .where({ service_id: serviceId })
    .update({ pull_number: number, closed_at: null, closed_reason: '' });
}

/** Records why a preview must be deleted. A sweep then deletes it. Returns false if a reason was already recorded. */
export async function closePreview(db: Db, serviceId: string, reason: string): Promise<boolean> {
  const closed = await db<PreviewRow>('previews')
    .where({ service_id: serviceId })
    .whereNull('closed_at')
    .update({ closed_at: db.fn.now() as never, closed_reason: reason });
  return closed > 0;
}

/** Records a deployment of a preview, so that it does not expire. Has no effect on other services. */
export async function touchPreview(trx: Transaction, serviceId: string): Promise<void> {
  await trx.raw('update previews set changed_at = now() where service_id = ?', [serviceId]);
}

export async function noteMissingBranch(db: Db, serviceId: string): Promise<void> {
  await db.raw('update previews set missing_at = coalesce(missing_at, now()) where service_id = ?', [serviceId]);
}

/**
 * Records whether a preview's branch exists. Returns true if the preview is to be deleted. That takes two polls without
 * the branch, because one response of a git host may be wrong.
 */
export async function noteBranch(db: Db, serviceId: string, there: boolean): Promise<boolean> {
  if (there) {
    await db('previews').where({ service_id: serviceId }).whereNotNull('missing_at').update({ missing_at: null });
    return false;
  }
  const isClosed = await oneValue<boolean>(
    db,
    `update previews p set missing_at = coalesce(missing_at, now()),
            closed_at = case when missing_at is null then null else now() end,
            closed_reason = case when missing_at is null then '' else 'its branch was deleted' end
      where service_id = ? and not fork and closed_at is null
        and exists (select from deployments d where d.service_id = p.service_id and d.commit_sha <> '')
      returning closed_at is not null as closed`,
    [serviceId],
  );
  return isClosed ?? false;
}

/** Moves a service's previews to its project and environment, so that they have the same protection. */
export async function movePreviews(
  trx: Transaction,
  baseId: string,
  place: { projectId: string | null; environmentId: string | null },
): Promise<void> {
  await trx.raw(
    `update services set project_id = :projectId, environment_id = :environmentId, updated_at = now()
      where deleted_at is null and id in (select service_id from previews where base_id = :baseId)`,
    { ...place, baseId },
  );
}

const BATCH = 100;

/** SQL: the columns of `PreviewFacts`, and the service's id. */
const OBSERVED = `select p.service_id as "serviceId", p.changed_at as "changedAt", s.lifecycle_status as "lifecycleStatus",
    (select max(o.finished_at) from operations o where o.service_id = s.id and o.kind = 'delete') as "deletionEndedAt",
    exists (select from operations o where o.service_id = s.id and o.kind = 'delete' and o.finished_at is null)
      as "deletionOpen",
    case when p.closed_at is not null then p.closed_reason end as closed,
    jsonb_build_object('gone', b.deleted_at is not null or b.lifecycle_status in ('deleting', 'deleted'),
      'configuration', b.configuration) as base
  from previews p join services s on s.id = p.service_id join services b on b.id = p.base_id`;

/** Returns previews that may have to be deleted. `decidePreview` decides for each. */
export async function endingPreviews(db: Db): Promise<{ serviceId: string; facts: PreviewFacts }[]> {
  const rows = await rowsOf<PreviewFacts & { serviceId: string }>(
    db,
    `${OBSERVED}
      where s.lifecycle_status = 'deleting' or p.closed_at is not null or b.deleted_at is not null or b.lifecycle_status in ('deleting', 'deleted')
         or b.configuration ->> 'previewMode' = 'off'
         or p.changed_at <= now() - make_interval(hours => (b.configuration ->> 'previewExpiryHours')::int)
      order by p.changed_at limit ${BATCH}`,
  );
  return rows.map(({ serviceId, ...facts }) => ({ serviceId, facts }));
}

/** Returns the facts about a preview whose service is locked; undefined if it is no longer a preview. */
export async function observePreview(trx: Transaction, serviceId: string): Promise<PreviewFacts | undefined> {
  return (await oneRow<PreviewFacts>(trx, `${OBSERVED} where p.service_id = ?`, [serviceId])) ?? undefined;
}

/** Deletes the rows of previews whose service is deleted. Returns their number. */
export async function forgetDeletedPreviews(db: Db): Promise<number> {
  return db('previews').whereIn('service_id', db('services').whereNotNull('deleted_at').select('id')).delete();
}
