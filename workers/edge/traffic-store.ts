import { type Db, rowsOf } from '../../shared/core/database/database-client.js';
import { FINEST } from '../../shared/metrics/model.js';

export interface Traffic {
  serviceId: string;
  /** 2xx, 3xx, 4xx and 5xx responses. */
  classes: readonly [number, number, number, number];
  bytesOut: number;
  /** The number of responses of each `latencyClass`. */
  latency: readonly number[];
}

/** Adds an edge's counts to the current metrics interval. */
export async function recordTraffic(db: Db, traffic: readonly Traffic[]): Promise<void> {
  if (traffic.length === 0) return;
  const column = columnsOf(traffic);
  await rowsOf(
    db,
    `insert into service_metrics as m (service_id, step, at, requests_2xx, requests_3xx, requests_4xx, requests_5xx, bytes_out, latency)
     select id, ${FINEST.step}, date_bin('${FINEST.step} seconds', now(), 'epoch'), c2, c3, c4, c5, bytes, latency::integer[]
       from unnest(?::uuid[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::text[])
              as t (id, c2, c3, c4, c5, bytes, latency)
     on conflict (service_id, step, at) do update
       set requests_2xx = m.requests_2xx + excluded.requests_2xx, requests_3xx = m.requests_3xx + excluded.requests_3xx,
           requests_4xx = m.requests_4xx + excluded.requests_4xx, requests_5xx = m.requests_5xx + excluded.requests_5xx,
           bytes_out = m.bytes_out + excluded.bytes_out, latency = add_counts(m.latency, excluded.latency)`,
    [
      column((item) => item.serviceId),
      ...([0, 1, 2, 3] as const).map((place) => column((item) => item.classes[place])),
      column((item) => item.bytesOut),
      column((item) => `{${item.latency.join(',')}}`),
    ],
  );
}

/** Adds an edge's counts to the totals of canaries. Each `serviceId` is a `canaryKey`. */
export async function recordCanaries(db: Db, counts: readonly Traffic[]): Promise<void> {
  if (counts.length === 0) return;
  const column = columnsOf(counts);
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

/** All edges sort by service, so they lock rows in the same order and never deadlock. */
function columnsOf(traffic: readonly Traffic[]) {
  const sorted = [...traffic].sort((a, b) => (a.serviceId < b.serviceId ? -1 : 1));
  return <T>(pick: (item: Traffic) => T): T[] => sorted.map(pick);
}
