import { type Db, rowsOf } from '../core/database/database-client.js';
import { type DeploymentState, type DeploymentStatus, statusOf } from './model.js';

/**
 * Counts deployments by visible status. The time does not grow with the number of finished deployments, which are
 * counted when they finish.
 */
export async function countDeployments(db: Db): Promise<Map<DeploymentStatus, number>> {
  const rows = await rowsOf<{ state: DeploymentState; count: number }>(
    db,
    `select status as state, sum(count)::bigint as count from deployment_counts group by status
     union all
     select status, count(*) from deployments where finished_at is null group by status`,
  );
  const counts = new Map<DeploymentStatus, number>();
  for (const { state, count } of rows) counts.set(statusOf(state), (counts.get(statusOf(state)) ?? 0) + count);
  return counts;
}

const FOLDED = 10_000;

/** Merges rows that count finished deployments. Readers see either the old rows or the new one. */
export async function foldDeploymentCounts(db: Db): Promise<void> {
  await db.raw(
    `with taken as (
       delete from deployment_counts
        where id in (select id from deployment_counts order by id limit ${FOLDED} for update skip locked)
       returning status, count
     )
     insert into deployment_counts (status, count)
     select status, sum(count) from taken group by status having sum(count) <> 0`,
  );
}

const MEASURED = 1000;

/** Returns the median and 95th percentile of each step's duration in the last hour, in seconds. */
export async function stepDurations(db: Db): Promise<{ step: string; median: number; p95: number }[]> {
  return rowsOf(
    db,
    `select step, percentile_cont(0.5) within group (order by seconds) as median,
            percentile_cont(0.95) within group (order by seconds) as p95
       from (
         select s.step ->> 'name' as step,
                extract(epoch from (s.step ->> 'finishedAt')::timestamptz - (s.step ->> 'startedAt')::timestamptz)
                  ::float8 as seconds
           from (select steps from deployments where finished_at > now() - interval '1 hour'
                  order by finished_at desc limit ${MEASURED}) d, jsonb_array_elements(d.steps) as s(step)
          where s.step ->> 'finishedAt' is not null
       ) durations group by step`,
  );
}
