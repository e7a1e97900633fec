import { type Db, rowsOf } from '../../../shared/core/database/database-client.js';
import type { Traffic } from '../traffic-store.js';

/**
 * Adds the requests that an edge has counted to the totals of canaries, in one statement. Each `serviceId` is a
 * `canaryKey`: it names a canary and one of its two releases, new or previous.
 */
export async function recordCanaries(db: Db, counts: readonly Traffic[]): Promise<void> {
  if (counts.length === 0) return;
  // All edges update the rows in the same order, so that their statements never deadlock.
  const sorted = [...counts].sort((a, b) => (a.serviceId < b.serviceId ? -1 : 1));
  const column = <T>(pick: (item: Traffic) => T) => sorted.map(pick);
  await rowsOf(
    db,
    `insert into canary_sides as c (deployment_id, side, requests, errors, latency)
     select k.deployment_id, side, requests, errors, latency::integer[]
       from unnest(?::uuid[], ?::text[], ?::bigint[], ?::bigint[], ?::text[]) as t (id, side, requests, errors, latency)
       join canaries k on k.deployment_id = t.id
      order by k.deployment_id, side
     on conflict (deployment_id, side) do update
       set requests = c.requests + excluded.requests, errors = c.errors + excluded.errors,
           latency = add_counts(c.latency, excluded.latency)`,
    [
      column(({ serviceId }) => serviceId.split('/')[0]),
      column(({ serviceId }) => serviceId.split('/')[1]),
      column(({ classes }) => classes.reduce((sum, count) => sum + count, 0)),
      column(({ classes }) => classes[3]),
      column(({ latency }) => `{${latency.join(',')}}`),
    ],
  );
}
