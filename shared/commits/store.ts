import { v7 as uuidv7 } from 'uuid';
import {
  anyRow,
  type Db,
  oneRow,
  oneValue,
  rowCountOf,
  rowsOf,
  type Transaction,
  theRow,
} from '../core/database/database-client.js';
import { makeDue } from '../engine/due-records.js';
import type { ServiceConfiguration } from '../services/configuration.js';
import { COMMIT_EVENTS } from './kind.js';
import type { BranchNews, KnownCommits } from './model.js';

export interface CommitEventRow {
  id: string;
  service_id: string;
  hook_id: string | null;
  delivery_id: string | null;
  /** `preview`: polling found a branch for which a preview should be created. */
  kind: 'push' | 'deploy' | 'preview';
  branch: string;
  before_sha: string;
  after_sha: string;
  actor: string;
  outcome: string;
  deployment_id: string | null;
  dispatches: number;
  finished_at: Date | null;
}

export type NewCommitEvent = Pick<CommitEventRow, 'service_id' | 'kind' | 'actor'> &
  Partial<Pick<CommitEventRow, 'hook_id' | 'delivery_id' | 'branch' | 'before_sha' | 'after_sha'>>;

/** Stores a reported commit, which is due immediately. Returns null if this delivery was already stored. */
export async function insertCommitEvent(db: Db, event: NewCommitEvent): Promise<string | null> {
  const id = uuidv7();
  const rows = await db('commit_events')
    .insert({ id, due_at: db.fn.now(), ...event })
    .onConflict(db.raw('(hook_id, delivery_id) where delivery_id is not null'))
    .ignore()
    .returning('id');
  return rows.length > 0 ? id : null;
}

export async function findCommitEvent(db: Db, id: string): Promise<CommitEventRow | undefined> {
  return db<CommitEventRow>('commit_events').where({ id }).first();
}

/** Marks a reported commit as handled. Returns false if another process has done so. */
export async function finishCommitEvent(
  db: Db,
  id: string,
  { outcome, deploymentId = null }: { outcome: string; deploymentId?: string | null },
): Promise<boolean> {
  const row = await oneRow<{ hook_id: string | null }>(
    db,
    `update commit_events set outcome = :outcome, deployment_id = :deploymentId, finished_at = now(), due_at = null
      where id = :id and finished_at is null returning hook_id`,
    { id, outcome, deploymentId },
  );
  if (row?.hook_id) await db('hooks').where({ id: row.hook_id }).update({ outcome });
  return row !== null;
}

/** Returns true if there is a later, unhandled push to the same branch of the service. */
export function hasLaterEvent(db: Db, { id, service_id, branch }: CommitEventRow): Promise<boolean> {
  const sql = `select from commit_events where service_id = :service_id and branch = :branch and kind = 'push'
                  and finished_at is null and id > :id limit 1`;
  return anyRow(db, sql, { id, service_id, branch });
}

/** Makes a reported commit due again after `delayMs`. */
export async function postponeCommitEvent(db: Db, event: CommitEventRow, delayMs: number): Promise<void> {
  await makeDue(db, COMMIT_EVENTS, event, delayMs);
}

const KEPT_DAYS = 7;

/** Deletes commit events that were handled more than 7 days ago. Returns their number. */
export function deleteOldCommitEvents(db: Db): Promise<number> {
  return rowCountOf(db, `delete from commit_events where finished_at < now() - make_interval(days => ${KEPT_DAYS})`);
}

export function knownCommits(db: Db, serviceId: string, branch: string): Promise<KnownCommits> {
  return theRow<KnownCommits>(
    db,
    `select (select commit_sha from commit_heads where service_id = :serviceId and branch = :branch) as head,
            exists (select from commit_heads where service_id = :serviceId and branch = :branch and only_seen) as "onlySeen",
            (select commit_sha from deployments where service_id = :serviceId and branch = :branch and commit_sha <> ''
              order by number desc limit 1) as deployed,
            exists (select from deployments where service_id = :serviceId and branch = :branch and commit_sha = ''
                       and finished_at is null and cancel_requested_at is null) as undecided`,
    { serviceId, branch },
  );
}

export async function recordHead(db: Db, serviceId: string, branch: string, commitSha: string): Promise<void> {
  await db('commit_heads')
    .insert({ service_id: serviceId, branch, commit_sha: commitSha })
    .onConflict(['service_id', 'branch'])
    .merge({ commit_sha: commitSha, only_seen: false, updated_at: db.fn.now() });
}

/** Records the commit that a branch's first poll saw. Does nothing if the branch has a recorded commit. */
export async function recordSeen(db: Db, serviceId: string, branch: string, commitSha: string): Promise<void> {
  await db('commit_heads')
    .insert({ service_id: serviceId, branch, commit_sha: commitSha, only_seen: true })
    .onConflict(['service_id', 'branch'])
    .ignore();
}

/** Returns the last commit of a branch whose `ranvier.yaml` was applied; null if there is none. */
export async function appliedCommit(db: Db, serviceId: string, branch: string): Promise<string | null> {
  const row = await db('stack_heads').where({ service_id: serviceId, branch }).first('commit_sha');
  return row?.commit_sha ?? null;
}

/** Records that the `ranvier.yaml` of a commit was applied. Returns false if that was already recorded. */
export function recordApplied(trx: Transaction, serviceId: string, branch: string, sha: string): Promise<boolean> {
  return anyRow(
    trx,
    `insert into stack_heads as h (service_id, branch, commit_sha) values (:serviceId, :branch, :sha)
     on conflict (service_id, branch) do update set commit_sha = excluded.commit_sha
      where h.commit_sha <> excluded.commit_sha`,
    { serviceId, branch, sha },
  );
}

/** Returns the commit that the service now runs; null if it does not come from this branch. */
export function liveCommit(db: Db, serviceId: string, branch: string): Promise<string | null> {
  return oneValue<string>(
    db,
    `select d.commit_sha from services s join deployments d on d.id = s.live_deployment_id
      where s.id = ? and d.branch = ? and d.commit_sha <> ''`,
    [serviceId, branch],
  );
}

/** SQL: true if a push to the branch of the service `s` applies a stack. */
const APPLIES_STACK = 's.id in (select service_id from hooks where stack_by is not null)';

/** SQL: true for a service `s` whose repository is polled. */
const WATCHED = `(s.configuration ->> 'autoDeploy' = 'commit' or s.configuration ->> 'previewMode' = 'automatic' or ${APPLIES_STACK})
  and s.deleted_at is null and not s.archived
  and s.lifecycle_status <> 'deleting' and s.configuration ->> 'sourceType' = 'repository'
  and s.configuration ->> 'buildMethod' <> 'image' and s.configuration ->> 'runtime' <> 'image'
  and s.configuration ->> 'repository' <> '' and s.kind not in ('postgres', 'redis')`;

/** SQL: the ids of services whose repository may be polled, found by indexes. */
const CANDIDATES = `array(
  select id from services where configuration ->> 'autoDeploy' = 'commit' and deleted_at is null
  union select id from services where configuration ->> 'previewMode' = 'automatic' and deleted_at is null
  union select service_id from hooks where stack_by is not null)`;

export interface WatchedService {
  id: string;
  workspace_id: string;
  configuration: ServiceConfiguration;
  sealed_repository: Buffer | null;
  updated_at: Date;
}

/** Returns services that must be polled but are not, or that have changed since polling was set up. */
export async function unsyncedServices(db: Db, limit: number): Promise<WatchedService[]> {
  return rowsOf<WatchedService>(
    db,
    `select s.id, s.workspace_id, s.configuration, s.sealed_repository, s.updated_at from services s
       left join commit_watches w on w.service_id = s.id
      where s.id = any(${CANDIDATES}) and ${WATCHED} and (w.service_id is null or w.synced_at < s.updated_at) order by s.updated_at limit ?`,
    [limit],
  );
}

/** Starts polling a service's repository. `firstMs` is the delay until the first poll of a new repository. */
export async function watchService(
  trx: Transaction,
  { id, updated_at }: Pick<WatchedService, 'id' | 'updated_at'>,
  fingerprint: Buffer,
  firstMs: number,
): Promise<void> {
  await trx.raw(
    `insert into polled_repositories (fingerprint, next_at) values (:fingerprint, now() + :firstMs * interval '1 millisecond')
     on conflict do nothing`,
    { fingerprint, firstMs },
  );
  await trx('commit_watches')
    .insert({ service_id: id, fingerprint, synced_at: updated_at })
    .onConflict('service_id')
    .merge();
}

/** Stops polling for services that no longer need it. Deletes the records of repositories that no service uses. */
export async function endWatches(db: Db): Promise<void> {
  await db.raw(
    `delete from commit_watches w where not exists (select from services s where s.id = w.service_id and ${WATCHED})`,
  );
  // If previews are enabled again, the next poll must only record the existing branches, and create no previews.
  await db.raw(
    `update commit_watches w set branches_at = null where branches_at is not null
        and not exists (select from services s where s.id = w.service_id and s.configuration ->> 'previewMode' = 'automatic')`,
  );
  await db.raw(
    'delete from polled_repositories r where not exists (select from commit_watches w where w.fingerprint = r.fingerprint)',
  );
}

export interface DueRepository {
  fingerprint: Buffer;
  failures: number;
}

/** Returns repositories whose poll is due. They are due again in five minutes, in case this process dies. */
export async function takeDueRepositories(db: Db, limit: number): Promise<DueRepository[]> {
  return rowsOf<DueRepository>(
    db,
    `update polled_repositories r set next_at = now() + interval '5 minutes'
       from (select fingerprint from polled_repositories where next_at <= now() order by failures > 0, next_at limit ?
                for update skip locked) due
      where r.fingerprint = due.fingerprint returning r.fingerprint, r.failures`,
    [limit],
  );
}

export type PolledService = WatchedService & {
  /** True if a hook reports pushes to the repository. */
  hooked: boolean;
  /** True if a push to the service's branch applies a stack. */
  applies_stack: boolean;
  /** True if the branches of the service's repository have been recorded. */
  branches_noted: boolean;
  is_preview: boolean;
  branch_missing: boolean;
};

export async function servicesOfRepository(db: Db, fingerprint: Buffer): Promise<PolledService[]> {
  return rowsOf<PolledService>(
    db,
    `select s.id, s.workspace_id, s.configuration, s.sealed_repository, s.updated_at,
            exists (select from hooks h where h.service_id = s.id and h.provider <> 'generic') as hooked, ${APPLIES_STACK} as applies_stack,
            w.branches_at is not null as branches_noted, p.service_id is not null as is_preview,
            p.missing_at is not null as branch_missing
       from commit_watches w join services s on s.id = w.service_id left join previews p on p.service_id = s.id
      where w.fingerprint = ? and ${WATCHED}`,
    [fingerprint],
  );
}

export async function notedBranches(db: Db, serviceId: string): Promise<Map<string, string>> {
  const rows = await db('commit_heads').where({ service_id: serviceId }).select('branch', 'commit_sha');
  return new Map(rows.map(({ branch, commit_sha }) => [branch, commit_sha]));
}

/** Records the `noted` branches and deletes the `gone` ones. Stores an event for each branch in `news`. */
export async function noteBranches(
  trx: Transaction,
  serviceId: string,
  { news, noted, gone }: BranchNews,
): Promise<void> {
  const rows = noted.map(([branch, commit_sha]) => ({ service_id: serviceId, branch, commit_sha }));
  if (rows.length > 0) {
    const changed = { commit_sha: trx.raw('excluded.commit_sha'), only_seen: false, updated_at: trx.fn.now() };
    await trx('commit_heads').insert(rows).onConflict(['service_id', 'branch']).merge(changed);
  }
  if (gone.length > 0) await trx('commit_heads').where({ service_id: serviceId }).whereIn('branch', gone).delete();
  for (const [branch, after_sha] of news) {
    await insertCommitEvent(trx, { service_id: serviceId, kind: 'preview', branch, after_sha, actor: 'poll' });
  }
  await trx('commit_watches').where({ service_id: serviceId }).update({ branches_at: trx.fn.now() });
}

export async function recordPoll(
  db: Db,
  fingerprint: Buffer,
  { pauseMs, error }: { pauseMs: number; error: string },
): Promise<void> {
  await db.raw(
    `update polled_repositories set polled_at = now(), polls = polls + 1, error = :error,
            failures = case when :error = '' then 0 else failures + 1 end,
            next_at = now() + :pauseMs * interval '1 millisecond' where fingerprint = :fingerprint`,
    { fingerprint, pauseMs, error },
  );
}

/** Makes the poll of the service's repository due. */
export async function pollSoon(db: Db, serviceId: string): Promise<void> {
  await db.raw(
    `update polled_repositories r set next_at = least(r.next_at, now())
       from commit_watches w where w.service_id = ? and r.fingerprint = w.fingerprint`,
    [serviceId],
  );
}

export interface PollFigures {
  repositories: number;
  failing: number;
  polls: number;
  /** How overdue the most overdue poll is, in seconds. */
  late: number;
}

export function pollFigures(db: Db): Promise<PollFigures> {
  return theRow<PollFigures>(
    db,
    `select count(*) as repositories, count(*) filter (where failures > 0) as failing,
            coalesce(sum(polls), 0)::bigint as polls,
            coalesce(greatest(0, extract(epoch from now() - min(next_at))), 0)::float8 as late from polled_repositories`,
  );
}
