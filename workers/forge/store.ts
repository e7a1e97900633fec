import { type Db, oneRow, rowCountOf, valuesOf } from '../../shared/core/database/database-client.js';
import type { DeploymentState, StepRecord } from '../../shared/deployments/model.js';
import type { ServiceKind } from '../../shared/services/model.js';
import type { ForgeName } from './forges.js';

export interface HeldReport {
  id: string;
  hook_id: string;
  service_id: string;
  kind: 'status' | 'comment' | 'deployment';
  subject: string;
  remote_id: string;
  attempted_at: Date | null;
  sent: Record<string, unknown> | null;
  revision: number;
  changed_at: Date;
  forge: ForgeName;
  api_url: string;
  project: string;
  sealed_token: Buffer;
  failures: number;
}

/** How long a git host is locked while a report is sent. The report's requests must take less. */
const BUSY_SECONDS = 60;
/** How many git hosts of a workspace get reports at once. Slow hosts must not delay other workspaces. */
const SHARE = 2;

/** Locks the git host of a report. Returns null if the report was sent, or must wait for another job. */
export function takeReport(db: Db, id: string): Promise<HeldReport | null> {
  return db.transaction(async (trx) => {
    // Without this lock, two jobs that count the workspace's busy git hosts at the same time would both proceed.
    await trx.raw(
      `select from forge_targets where workspace_id =
          (select t.workspace_id from forge_reports r join forge_targets t on t.id = r.hook_id where r.id = ?)
        order by id for update`,
      [id],
    );
    const held = await oneRow<HeldReport>(
      trx,
      `update forge_targets t set busy_until = now() + interval '${BUSY_SECONDS} seconds'
         from forge_reports r
        where r.id = ? and r.finished_at is null and t.id = r.hook_id and t.not_before <= now()
          and (t.busy_until is null or t.busy_until <= now())
          and (select count(*) from forge_targets o
                where o.workspace_id = t.workspace_id and o.busy_until > now()) < ${SHARE}
       returning r.*, t.forge, t.api_url, t.project, t.sealed_token, t.failures`,
      [id],
    );
    if (held === null) {
      await trx.raw(
        `update forge_reports r
            set dispatches = r.dispatches + 1, due_at = greatest(t.not_before, now() + interval '1 second')
           from forge_targets t where r.id = ? and t.id = r.hook_id and r.finished_at is null and r.due_at is null`,
        [id],
      );
    }
    return held;
  });
}

/** Unlocks the git host for the next report. The caller must have stored the result of the last report. */
export async function releaseTarget(
  db: Db,
  hookId: string,
  { failures, waitMs = 0, sent = false }: { failures: number; waitMs?: number; sent?: boolean },
): Promise<void> {
  await db.raw(
    `update forge_targets set busy_until = null, failures = :failures,
            not_before = now() + cast(:waitMs as float8) * interval '1 millisecond',
            sent_at = case when :sent then now() else sent_at end
      where id = :hookId`,
    { hookId, failures, waitMs, sent },
  );
}

/**
 * Stores a report's result. Finishes the report, or schedules another job if the report's subject has changed
 * meanwhile.
 */
export async function endReport(
  db: Db,
  { id, revision }: Pick<HeldReport, 'id' | 'revision'>,
  { error, sent }: { error: string; sent?: object },
): Promise<void> {
  await db.raw(
    `update forge_reports set error = :error, sent = coalesce(cast(:sent as jsonb), sent), updated_at = now(),
            finished_at = case when revision = :revision then now() end,
            dispatches = dispatches + case when revision = :revision or due_at is not null then 0 else 1 end,
            due_at = case when revision = :revision then null else now() end
      where id = :id`,
    { id, revision, error, sent: sent === undefined ? null : JSON.stringify(sent) },
  );
}

/** Schedules another job for a report after `waitMs`. */
export async function postponeReport(db: Db, id: string, { error, waitMs }: { error: string; waitMs: number }) {
  await db.raw(
    `update forge_reports set error = :error, updated_at = now(),
            dispatches = dispatches + case when due_at is null then 1 else 0 end,
            due_at = now() + cast(:waitMs as float8) * interval '1 millisecond'
      where id = :id`,
    { id, error, waitMs },
  );
}

/** Records that a comment or deployment is about to be created. If its answer is lost, the next job searches for it. */
export async function noteAttempt(db: Db, id: string): Promise<void> {
  await db.raw('update forge_reports set attempted_at = coalesce(attempted_at, now()) where id = ?', [id]);
}

export async function noteRemote(db: Db, id: string, remoteId: string): Promise<void> {
  await db.raw('update forge_reports set remote_id = ?, attempted_at = null where id = ?', [remoteId, id]);
}

export interface ObservedDeployment {
  id: string;
  status: DeploymentState;
  error: string;
  steps: StepRecord[];
  commit_sha: string;
  finished_at: Date | null;
  service_id: string;
}

interface ObservedService {
  workspace_id: string;
  name: string;
  slug: string;
  kind: ServiceKind;
  live_deployment_id: string | null;
  is_preview: boolean;
  deleted: boolean;
}

const DEPLOYMENT = 'd.id, d.status, d.error, d.steps, d.commit_sha, d.finished_at, d.service_id';

function newest(condition: string): string {
  return `select ${DEPLOYMENT} from deployments d where d.service_id = :serviceId and ${condition}
           order by d.created_at desc, d.id desc limit 1`;
}

/** Returns a service's newest deployment of this commit; null if there is none. */
export function deploymentOfCommit(db: Db, serviceId: string, sha: string): Promise<ObservedDeployment | null> {
  return oneRow<ObservedDeployment>(db, newest('d.commit_sha = :sha'), { serviceId, sha });
}

export function deploymentById(db: Db, serviceId: string, id: string): Promise<ObservedDeployment | null> {
  return oneRow<ObservedDeployment>(db, newest('d.id = cast(:id as uuid)'), { serviceId, id });
}

/** Returns a service's newest deployment whose commit is known; null if there is none. */
export function newestDeployment(db: Db, serviceId: string): Promise<ObservedDeployment | null> {
  return oneRow<ObservedDeployment>(db, newest(`d.commit_sha <> ''`), { serviceId });
}

export function observeService(db: Db, id: string): Promise<ObservedService | null> {
  return oneRow<ObservedService>(
    db,
    `select s.workspace_id, s.name, s.slug, s.kind, s.live_deployment_id, s.deleted_at is not null as deleted,
            exists (select from previews p where p.service_id = s.id) as is_preview
       from services s where s.id = ?`,
    [id],
  );
}

/** Returns the preview of a pull request; null if it has none. */
export function previewOfPull(
  db: Db,
  baseId: string,
  number: string,
): Promise<{ service_id: string; closed_reason: string } | null> {
  return oneRow(
    db,
    `select service_id, closed_reason from previews where base_id = ? and pull_number = cast(? as integer)
      order by closed_at is null desc, created_at desc limit 1`,
    [baseId, number],
  );
}

/** Returns true if lines of a deployment's log still wait in `log_batches`. */
export async function hasWaitingLines(
  db: Db,
  { id, service_id }: Pick<ObservedDeployment, 'id' | 'service_id'>,
): Promise<boolean> {
  const sql = 'select from log_batches where service_id = ? and deployment_id = ? limit 1';
  return (await rowCountOf(db, sql, [service_id, id])) > 0;
}

/** Returns the last lines of a deployment's log, oldest first. Stored lines are already masked. */
export async function lastLines(
  db: Db,
  { id, service_id }: Pick<ObservedDeployment, 'id' | 'service_id'>,
  limit: number,
): Promise<string[]> {
  const sql = 'select message from log_lines where service_id = ? and deployment_id = ? order by id desc limit ?';
  return (await valuesOf<string>(db, sql, [service_id, id, limit])).reverse();
}

const KEPT_DAYS = 30;

/**
 * Deletes finished reports of deleted services, and other finished reports after `KEPT_DAYS`. The report of a comment
 * is kept while the comment's pull request is in `pull_requests`.
 */
export function deleteOldReports(db: Db): Promise<number> {
  return rowCountOf(
    db,
    `delete from forge_reports r using services s
      where s.id = r.service_id and r.finished_at < now() - interval '1 minute'
        and (s.deleted_at is not null
          or (r.finished_at < now() - interval '${KEPT_DAYS} days' and not (r.kind = 'comment' and exists (
                select from pull_requests p where p.service_id = r.service_id and cast(p.number as text) = r.subject))))`,
  );
}
