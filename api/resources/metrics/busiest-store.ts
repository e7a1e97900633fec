import { type Db, rowsOf } from '../../../shared/core/database/database-client.js';
import { FINEST, type MetricRow } from '../../../shared/metrics/model.js';

/** Metrics of one minute: either of one service, or the sum of several services. */
export interface MinuteFigures extends Omit<MetricRow, 'at' | 'latency'> {
  /** The slug of the service; null for the sum of the services that are not listed. */
  slug: string | null;
  latency: number[] | null;
}

const BEGIN = `date_bin('${FINEST.step} seconds', now(), 'epoch')`;
const MINUTE = `m.step = ${FINEST.step} and m.at >= ${BEGIN} - interval '1 minute' and m.at < ${BEGIN}`;

/** Returns metrics of the `most` busiest services in the last full minute. A last row sums all other services. */
export async function busiestServices(db: Db, most: number): Promise<MinuteFigures[]> {
  const rows = await rowsOf<MinuteFigures & { steps: (number[] | null)[] | null }>(
    db,
    `with figures as (
       select m.service_id, s.slug, sum(counts)::int as counts, sum(m.replicas)::int as replicas, sum(samples)::int as samples,
              sum(cpu)::float8 as cpu, sum(memory)::float8 as memory, sum(requests_2xx)::float8 as requests_2xx,
              sum(requests_3xx)::float8 as requests_3xx, sum(requests_4xx)::float8 as requests_4xx,
              sum(requests_5xx)::float8 as requests_5xx, sum(bytes_out)::float8 as bytes_out
         from service_metrics m join services s on s.id = m.service_id and s.deleted_at is null
        where ${MINUTE} group by m.service_id, s.slug
     ), ranked as (
       select *, row_number() over (order by requests_2xx + requests_3xx + requests_4xx + requests_5xx desc, cpu desc, service_id) as rank
         from figures
     )
     select slug, counts, replicas, samples, cpu, memory, requests_2xx, requests_3xx, requests_4xx, requests_5xx, bytes_out,
            (select jsonb_agg(to_jsonb(m.latency)) from service_metrics m
              where m.service_id = ranked.service_id and ${MINUTE} and m.latency is not null) as steps
       from ranked where rank <= :most
     union all
     select null, sum(counts)::int, sum(replicas)::int, sum(samples)::int, sum(cpu), sum(memory), sum(requests_2xx), sum(requests_3xx),
            sum(requests_4xx), sum(requests_5xx), sum(bytes_out), null
       from ranked where rank > :most having count(*) > 0`,
    { most },
  );
  return rows.map(({ steps, ...figures }) => ({ ...figures, latency: steps === null ? null : added(steps) }));
}

function added(steps: readonly (number[] | null)[]): number[] {
  const sums: number[] = [];
  for (const step of steps)
    for (const [index, count] of (step ?? []).entries()) sums[index] = (sums[index] ?? 0) + count;
  return sums;
}
