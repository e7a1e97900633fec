import { v7 as uuidv7 } from 'uuid';
import {
  countOf,
  type Db,
  returnedRow,
  rowCountOf,
  rowsOf,
  type Transaction,
} from '../core/database/database-client.js';
import { fetchPage, type Page, type PageRequest } from '../core/database/page.js';
import { CLOSED_KEPT_DAYS, type PullFacts, type PullReport, RETRY_SECONDS } from './pull-model.js';

export interface PullRow {
  id: string;
  service_id: string;
  number: number;
  ref: string;
  title: string;
  author: string;
  branch: string;
  target: string;
  fork: boolean;
  head_sha: string;
  open: boolean;
  reported_at: Date;
  decision: PullFacts['decision'];
  decided_sha: string;
  decided_by: string;
  decided_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

export type PullView = PullRow & { preview_id: string | null };

export function pullFacts(row: PullRow): PullFacts {
  const { fork, head_sha, open, reported_at, decision, decided_sha } = row;
  return { fork, headSha: head_sha, open, reportedAt: reported_at, decision, decidedSha: decided_sha };
}

function pullViews(db: Db, serviceId: string) {
  return db<PullView>('pull_requests as r')
    .leftJoin('previews as p', (join) =>
      join.on('p.base_id', 'r.service_id').andOn('p.pull_number', 'r.number').andOnNull('p.closed_at'),
    )
    .where('r.service_id', serviceId)
    .select('r.*', 'p.service_id as preview_id');
}

export async function listPulls(db: Db, serviceId: string, page: PageRequest): Promise<Page<PullView>> {
  return fetchPage<PullView>(pullViews(db, serviceId) as never, 'r', page);
}

export async function findPull(db: Db, serviceId: string, id: string): Promise<PullView | undefined> {
  return pullViews(db, serviceId).where('r.id', id).first() as never;
}

/** Returns the pull request with this number, locked until the commit; undefined if it is unknown. */
export async function lockPull(trx: Transaction, serviceId: string, number: number): Promise<PullRow | undefined> {
  return trx<PullRow>('pull_requests').where({ service_id: serviceId, number }).forUpdate().first();
}

export async function lockPullById(trx: Transaction, serviceId: string, id: string): Promise<PullRow | undefined> {
  return trx<PullRow>('pull_requests').where({ service_id: serviceId, id }).forUpdate().first();
}

/** Stores a reported pull request. Keeps a member's decision about it. */
export async function storePull(
  trx: Transaction,
  serviceId: string,
  { number, ref, title, author, branch, target, fork, headSha, open, at }: PullReport,
): Promise<PullRow> {
  const facts = { ref, title, author, branch, target, fork, head_sha: headSha, open };
  const [row] = await trx<PullRow>('pull_requests')
    .insert({ id: uuidv7(), service_id: serviceId, number, reported_at: at ?? new Date(0), ...facts })
    .onConflict(['service_id', 'number'])
    .merge({ ...facts, updated_at: trx.fn.now() as never, ...(at === null ? {} : { reported_at: at }) })
    .returning('*');
  return returnedRow(row);
}

export function countOpenPulls(trx: Transaction, serviceId: string): Promise<number> {
  return countOf(trx, 'select count(*) from pull_requests where service_id = ? and open', [serviceId]);
}

/** Returns a branch's open pull requests, oldest first; null if none was ever reported. Ignores forks. */
export async function openPullsOfBranch(db: Db, serviceId: string, branch: string): Promise<number[] | null> {
  const rows = await rowsOf<{ number: number; open: boolean }>(
    db,
    'select number, open from pull_requests where service_id = ? and branch = ? and not fork order by number',
    [serviceId, branch],
  );
  return rows.length === 0 ? null : rows.filter(({ open }) => open).map(({ number }) => number);
}

export async function decidePull(
  trx: Transaction,
  id: string,
  { decision, sha, by }: { decision: 'approved' | 'declined'; sha: string; by: string },
): Promise<void> {
  await trx('pull_requests')
    .where({ id })
    .update({ decision, decided_sha: sha, decided_by: by, decided_at: trx.fn.now(), updated_at: trx.fn.now() });
}

/** Returns the last approved commit of a fork's pull request; null if there is none or it was declined. */
export async function approvedCommit(trx: Transaction, serviceId: string, number: number): Promise<string | null> {
  const row = await trx<PullRow>('pull_requests').where({ service_id: serviceId, number }).first();
  return row?.decision === 'approved' ? row.decided_sha : null;
}

/** Schedules a new attempt to create a preview; with `again: false`, cancels it. */
export async function noteRetry(db: Db, id: string, again: boolean): Promise<void> {
  const at = again ? db.raw(`now() + interval '${RETRY_SECONDS} seconds'`) : null;
  await db('pull_requests').where({ id }).update({ retry_at: at });
}

const BATCH = 50;

/** Returns pull requests for which the creation of a preview must be retried. */
export async function pullsToRetry(db: Db): Promise<PullRow[]> {
  return rowsOf<PullRow>(
    db,
    `select r.* from pull_requests r where r.retry_at <= now() order by r.retry_at limit ${BATCH}`,
  );
}

/** Deletes closed pull requests that were not reported for 30 days. Returns their number. */
export function deleteOldPulls(db: Db): Promise<number> {
  return rowCountOf(
    db,
    `delete from pull_requests where not open and updated_at < now() - make_interval(days => ${CLOSED_KEPT_DAYS})`,
  );
}
