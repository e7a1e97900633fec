import { type Db, rowsOf } from '../../shared/core/database/database-client.js';
import { FINEST } from '../../shared/metrics/model.js';

/** One service's responses at an edge since its last report. */
export interface Traffic {
  serviceId: string;
  /** Number of responses by status class: 2xx, 3xx, 4xx, 5xx. */
  classes: readonly [number, number, number, number];
  bytesOut: number;
  /** Number of responses by `latencyClass`. */
  latency: readonly number[];
}

/** Adds an edge's counts to the current metrics interval, for all services in one statement. */
export async function recordTraffic(db: Db, traffic: readonly Traffic[]): Promise<void> {
  if (traffic.length === 0) return;
  // All edges update the rows in the same order, so that their statements never deadlock.
  const sorted = [...traffic].sort((a, b) => (a.serviceId < b.serviceId ? -1 : 1));
  const column = <T>(pick: (item: Traffic) => T) => sorted.map(pick);
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
      column((item) => item.classes[0]),
      column((item) => item.classes[1]),
      column((item) => item.classes[2]),
      column((item) => item.classes[3]),
      column((item) => item.bytesOut),
      column((item) => `{${item.latency.join(',')}}`),
    ],
  );
}
