import {
  type Db,
  oneRow,
  oneValue,
  returnedRow,
  rowsOf,
  type Transaction,
  theRow,
  valuesOf,
} from '../core/database/database-client.js';

export interface PushedRepositoryRow {
  service_id: string;
  folder_id: string;
  size_bytes: number;
  pushed_at: Date | null;
  unpacked: number;
}

export interface PushRow {
  id: string;
  service_id: string;
  ref: string;
  commit_sha: string;
}

/** Returns the record of a service's pushed repository. A new record gets `folderId`, the folder of this API host. */
export async function recordRepository(db: Db, serviceId: string, folderId: string): Promise<PushedRepositoryRow> {
  await db('pushed_repositories')
    .insert({ service_id: serviceId, folder_id: folderId })
    .onConflict('service_id')
    .ignore();
  return returnedRow(await findRepository(db, serviceId));
}

/** Records the address of an API process that serves the pushed repositories of the folder on its host. */
export async function announceHost(db: Db, folderId: string, address: string): Promise<void> {
  await db.raw(
    `insert into push_hosts (folder_id, address) values (:folderId, :address)
     on conflict (folder_id, address) do update set seen_at = now()`,
    { folderId, address },
  );
}

export async function withdrawHost(db: Db, folderId: string, address: string): Promise<void> {
  await db('push_hosts').where({ folder_id: folderId, address }).delete();
}

const HOSTS_TRIED = 3;

/** Returns addresses of API processes that serve a folder's repositories, most recently seen first. */
export function hostsOfFolder(db: Db, folderId: string): Promise<string[]> {
  return valuesOf<string>(
    db,
    `select address from push_hosts where folder_id = ? and seen_at > now() - interval '1 day'
      order by seen_at desc limit ${HOSTS_TRIED}`,
    [folderId],
  );
}

export async function findRepository(db: Db, serviceId: string): Promise<PushedRepositoryRow | undefined> {
  return db<PushedRepositoryRow>('pushed_repositories').where({ service_id: serviceId }).first();
}

/** Records a push. Returns the number of pushes since the repository was last packed. */
export async function recordPushed(db: Db, serviceId: string): Promise<number> {
  const pushed =
    'update pushed_repositories set pushed_at = now(), unpacked = unpacked + 1 where service_id = ? returning unpacked';
  return (await oneValue<number>(db, pushed, [serviceId])) ?? 0;
}

export async function recordSize(db: Db, serviceId: string, sizeBytes: number, packed: boolean): Promise<void> {
  await db('pushed_repositories')
    .where({ service_id: serviceId })
    .update({ size_bytes: sizeBytes, ...(packed ? { unpacked: 0 } : {}) });
}

/** Returns the number of pushed repositories and their total size in bytes. */
export function pushedStorage(db: Db): Promise<{ repositories: number; bytes: number }> {
  return theRow(
    db,
    'select count(*) as repositories, coalesce(sum(size_bytes), 0)::bigint as bytes from pushed_repositories',
  );
}

/** Returns which of these services are deleted or never existed. */
export function goneServices(db: Db, ids: readonly string[]): Promise<string[]> {
  return valuesOf<string>(
    db,
    `select wanted.id from unnest(cast(:ids as uuid[])) as wanted(id)
      where not exists (select from services s where s.id = wanted.id and s.deleted_at is null)`,
    { ids: [...ids] },
  );
}

interface PushedCommit {
  serviceId: string;
  ref: string;
  commitSha: string;
}

/** The deployment of a pushed commit. It may belong to a preview of the service. */
interface DeployedPush {
  id: string;
  deployed_service_id: string;
}

/**
 * Returns the deployment that an earlier, unsettled push of this commit queued. A push is settled once it has updated
 * its branch or can no longer do so.
 */
export function findOpenPush(trx: Transaction, pushed: PushedCommit): Promise<DeployedPush | null> {
  const isOpen = `(d.status = 'live' or d.finished_at is null and d.cancel_requested_at is null)`;
  return findPush(trx, pushed, `p.settled_at is null and ${isOpen}`);
}

/** Returns the deployment of the push that updated the branch to this commit, if it went live. */
export function findMovedPush(trx: Transaction, pushed: PushedCommit): Promise<DeployedPush | null> {
  return findPush(trx, pushed, `p.moved and d.status = 'live'`);
}

function findPush(
  trx: Transaction,
  { serviceId, ref, commitSha }: PushedCommit,
  condition: string,
): Promise<DeployedPush | null> {
  return oneRow<DeployedPush>(
    trx,
    `select p.id, d.service_id as deployed_service_id from pushes p join deployments d on d.id = p.id
      where p.service_id = :serviceId and p.ref = :ref and p.commit_sha = :commitSha and ${condition}`,
    { serviceId, ref, commitSha },
  );
}

/**
 * Marks unsettled pushes of a commit as settled. At most one push of a commit may be unsettled. The caller must ensure
 * that the deployments of the marked pushes do not continue.
 */
export async function giveUpPushes(trx: Transaction, { serviceId, ref, commitSha }: PushedCommit): Promise<void> {
  await trx('pushes')
    .where({ service_id: serviceId, ref, commit_sha: commitSha })
    .whereNull('settled_at')
    .update({ settled_at: trx.fn.now() });
}

export async function insertPush(
  trx: Transaction,
  push: { id: string; service_id: string; folder_id: string; ref: string; commit_sha: string },
): Promise<void> {
  await trx('pushes').insert(push);
}

/** Returns unsettled pushes whose deployment is finished, for the repositories in one folder. */
export async function endedPushes(db: Db, folderId: string): Promise<{ id: string; service_id: string }[]> {
  return rowsOf(
    db,
    `select p.id, p.service_id from pushes p join deployments d on d.id = p.id
      where p.folder_id = ? and p.settled_at is null and d.finished_at is not null order by p.id limit 50`,
    [folderId],
  );
}

/** Returns the commit that is live and to which a branch will soon be updated; null if there is none. */
export function arrivingCommit(db: Db, serviceId: string, ref: string): Promise<string | null> {
  return oneValue<string>(
    db,
    `select p.commit_sha from pushes p join deployments d on d.id = p.id
      where p.service_id = :serviceId and p.ref = :ref and p.settled_at is null and d.status = 'live'
        and not ${SUPERSEDED} order by p.id desc limit 1`,
    { serviceId, ref },
  );
}

/** SQL: true if a push later than `p` has updated the branch. */
const SUPERSEDED = `exists (select from pushes later where later.service_id = p.service_id and later.ref = p.ref
                      and later.moved and later.id > p.id)`;

export type EndedPush = PushRow & { live: boolean; superseded: boolean };

/** Locks an unsettled push whose deployment is finished. Returns null if there is no such push. */
export async function lockEndedPush(trx: Transaction, id: string): Promise<EndedPush | null> {
  return oneRow<EndedPush>(
    trx,
    `select p.id, p.service_id, p.ref, p.commit_sha, d.status = 'live' as live,
            ${SUPERSEDED} as superseded
       from pushes p join deployments d on d.id = p.id
      where p.id = ? and p.settled_at is null and d.finished_at is not null for update of p`,
    [id],
  );
}

export async function settlePush(trx: Transaction, id: string, moved: boolean): Promise<void> {
  await trx('pushes').where({ id }).update({ settled_at: trx.fn.now(), moved });
}

/**
 * Returns the ids of the deployments whose commits are kept. These are all unfinished and live deployments of the
 * service and its previews, and the last `most` deployments of the service that went live.
 */
export async function keptDeployments(db: Db, serviceId: string, most: number): Promise<Set<string>> {
  const ids = await valuesOf<string>(
    db,
    `with owners as (select cast(:serviceId as uuid) as id union select service_id from previews where base_id = :serviceId)
     (select d.id from deployments d join owners o on o.id = d.service_id where d.finished_at is null)
     union select s.live_deployment_id from services s join owners o on o.id = s.id where s.live_deployment_id is not null
     union (select id from deployments where service_id = :serviceId and status = 'live' order by number desc limit :most)`,
    { serviceId, most },
  );
  return new Set(ids);
}
