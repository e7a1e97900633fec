import { type Db, rowsOf } from '../core/database/client.js';
import { type DeploymentState, type DeploymentStatus, statusOf } from './model.js';

/** How many deployments there are of each status, as callers see it. */
export async function countDeployments(db: Db): Promise<Map<DeploymentStatus, number>> {
  const rows = await rowsOf<{ state: DeploymentState; count: number }>(
    db,
    'select status as state, count(*) as count from deployments group by status',
  );
  const counts = new Map<DeploymentStatus, number>();
  for (const { state, count } of rows) counts.set(statusOf(state), (counts.get(statusOf(state)) ?? 0) + count);
  return counts;
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
