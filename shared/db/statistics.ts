import { type Db, rowsOf } from './client.js';

/** How many deployments there are of each status. */
export async function countDeployments(db: Db): Promise<{ status: string; count: number }[]> {
  return rowsOf(db, 'select status, count(*) as count from deployments group by status');
}

/** How long the steps of the deployments that ended within the last hour took: median and 95th percentile, in seconds. */
export async function stepDurations(db: Db): Promise<{ step: string; median: number; p95: number }[]> {
  return rowsOf(
    db,
    `select step, percentile_cont(0.5) within group (order by seconds) as median,
            percentile_cont(0.95) within group (order by seconds) as p95
       from (
         select s.step ->> 'name' as step,
                extract(epoch from (s.step ->> 'finishedAt')::timestamptz - (s.step ->> 'startedAt')::timestamptz)
                  ::float8 as seconds
           from deployments d, jsonb_array_elements(d.steps) as s(step)
          where d.finished_at > now() - interval '1 hour' and s.step ->> 'finishedAt' is not null
       ) durations group by step`,
    [],
  );
}

/** Counts what a sweep has mended. */
export async function countRepairs(db: Db, sweep: string, repairs: number): Promise<void> {
  await db.raw(
    `insert into repairs (sweep, count) values (:sweep, :repairs)
     on conflict (sweep) do update set count = repairs.count + excluded.count, last_at = now()`,
    { sweep, repairs },
  );
}

/** What the sweeps have mended since the beginning. */
export async function repairCounts(db: Db): Promise<{ sweep: string; count: number }[]> {
  return rowsOf(db, 'select sweep, count from repairs order by sweep');
}
