import { type Db, oneValue, rowCountOf, rowsOf } from '../core/database/database-client.js';
import { FINEST, type MetricRow, RESOLUTIONS, type Resolution, resolutionFor } from './model.js';

/** Returns a service's metrics of the last hours, oldest first. `step` is the length of an interval in seconds. */
export async function readMetrics(
  db: Db,
  serviceId: string,
  hours: number,
): Promise<{ step: number; rows: MetricRow[] }> {
  const { step } = resolutionFor(hours);
  const rows = await rowsOf<MetricRow>(
    db,
    `select at, counts, replicas, samples, cpu, memory, requests_2xx, requests_3xx, requests_4xx, requests_5xx, bytes_out, latency,
            volume_bytes
       from service_metrics
      where service_id = :serviceId and step = :step and at > now() - make_interval(hours => cast(:hours as int))
      order by at`,
    { serviceId, step, hours },
  );
  return { step, rows };
}

/** Adds the number of bytes sent to clients, by service, to the current interval. */
export async function addBytesOut(db: Db, bytes: ReadonlyMap<string, number>): Promise<void> {
  // All writers use the same order, so that they cannot deadlock.
  const sorted = [...bytes].sort(([a], [b]) => (a < b ? -1 : 1));
  await rowCountOf(
    db,
    `insert into service_metrics as m (service_id, step, at, bytes_out)
     select id, ${FINEST.step}, date_bin('${FINEST.step} seconds', now(), 'epoch'), bytes
       from unnest(?::uuid[], ?::bigint[]) as t (id, bytes)
     on conflict (service_id, step, at) do update set bytes_out = m.bytes_out + excluded.bytes_out`,
    [sorted.map(([id]) => id), sorted.map(([, count]) => count)],
  );
}

/** How long after the end of an interval edges and workers may still report its metrics. */
const LATE_SECONDS = 60;

/** Maximum time span that one statement aggregates, in case much of the history is not aggregated yet. */
const MAX_SECONDS = 4 * 3600;

/** Aggregates metrics of short intervals into longer ones, up to now. Repeating the aggregation changes nothing. */
export async function rollUp(db: Db): Promise<void> {
  for (const [index, { step }] of RESOLUTIONS.entries()) {
    const source = RESOLUTIONS[index - 1];
    if (source === undefined) continue;
    while (!(await rollUpPart(db, step, source))) {
      // Each call aggregates one part of the time, and returns true once it has reached the present.
    }
  }
}

/** Returns true if the aggregation has reached the current time. */
async function rollUpPart(db: Db, step: number, source: Resolution): Promise<boolean> {
  const reached = await oneValue<boolean>(
    db,
    `with span as (
         select greatest(coalesce((select done_until from metric_rollups where step = :step),
                                  (select date_bin(make_interval(secs => :step), min(at), 'epoch') from service_metrics where step = :source)),
                         date_bin(make_interval(secs => :step), now() - make_interval(hours => cast(:sourceHours as int)), 'epoch')
                           + make_interval(secs => :step)) as since,
                date_bin(make_interval(secs => :step), now() - make_interval(secs => :late), 'epoch') as ended
       ), part as (
         -- The step that has not ended is made too, so that readers see it. It is made again until it has.
         select since, ended, least(ended, since + make_interval(secs => :most)) as done,
                case when ended > since + make_interval(secs => :most) then since + make_interval(secs => :most) else 'infinity' end as until
           from span
       ), made as (
         insert into service_metrics (service_id, step, at, counts, replicas, samples, cpu, memory,
                                      requests_2xx, requests_3xx, requests_4xx, requests_5xx, bytes_out, latency, volume_bytes)
         select m.service_id, :step, date_bin(make_interval(secs => :step), m.at, 'epoch'), sum(counts), sum(replicas), sum(samples),
                sum(cpu), sum(memory), sum(requests_2xx), sum(requests_3xx), sum(requests_4xx), sum(requests_5xx), sum(bytes_out),
                sum_counts(latency), max(volume_bytes)
           from part, service_metrics m
          where m.step = :source and m.at >= part.since and m.at < part.until
          group by 1, 3
         on conflict (service_id, step, at) do update
           set counts = excluded.counts, replicas = excluded.replicas, samples = excluded.samples, cpu = excluded.cpu,
               memory = excluded.memory, requests_2xx = excluded.requests_2xx, requests_3xx = excluded.requests_3xx,
               requests_4xx = excluded.requests_4xx, requests_5xx = excluded.requests_5xx, bytes_out = excluded.bytes_out,
               latency = excluded.latency, volume_bytes = excluded.volume_bytes
       ), marked as (
         insert into metric_rollups (step, done_until) select :step, done from part where done > since
         on conflict (step) do update set done_until = greatest(metric_rollups.done_until, excluded.done_until)
       )
       select coalesce(done, ended) >= ended as reached from part`,
    { step, source: source.step, sourceHours: source.hours, late: LATE_SECONDS, most: MAX_SECONDS },
  );
  return reached ?? true;
}

/** Deletes expired metrics, replica samples and records of restarts. Returns the number of deleted metrics rows. */
export async function deleteOldMetrics(db: Db): Promise<number> {
  let deleted = 0;
  for (const { step, hours } of RESOLUTIONS) {
    const old = `delete from service_metrics where step = ? and at < now() - make_interval(hours => cast(? as int))`;
    deleted += await rowCountOf(db, old, [step, hours]);
  }
  await db.raw(`delete from replica_samples where sampled_at < now() - interval '1 hour'`);
  await db.raw('delete from replica_restarts where at < now() - make_interval(hours => ?)', [FINEST.hours]);
  return deleted;
}

/**
 * Deletes the metrics of services deleted between a minute and an hour ago. During the first minute, edges may still
 * report metrics.
 */
export function deleteMetricsOfGone(db: Db): Promise<number> {
  return rowCountOf(
    db,
    `delete from service_metrics m using services s
      where s.id = m.service_id and s.deleted_at between now() - interval '1 hour' and now() - interval '1 minute'`,
  );
}
