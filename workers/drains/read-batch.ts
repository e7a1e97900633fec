import { type Db, rowsOf } from '../../shared/core/database/database-client.js';
import type { DrainSignal } from '../../shared/drains/model.js';
import type { LogLineRow } from '../../shared/logs/model.js';
import { FINEST } from '../../shared/metrics/model.js';
import { OVERLAP, type Position, type TakenSignal } from './drain-store.js';
import { logsRequest } from './encode-logs.js';
import { metricsRequest, type SentStep } from './encode-metrics.js';
import { type TracedDeployment, tracesRequest } from './encode-traces.js';
import { lineBatch, type WaitingLines } from './line-batch.js';
import type { ServiceFacts } from './otlp.js';

export interface Batch {
  /** Null if there is nothing to send because all waiting records were deleted. */
  request: object | null;
  count: number;
  oldest: Date | null;
  position: Position;
  more: boolean;
  /** Number of log lines that were deleted before they could be sent. */
  lost: number;
  lossText: string;
}

/** Limits of one request. They keep its body below 1 MB, because proxies often refuse larger ones. */
const MAX_LINES = 1000;
const MAX_LINE_BYTES = 512 * 1024;
const MAX_SERVICES = 50;
const MAX_STEPS = 100;
const MAX_DEPLOYMENTS = 100;
/** How long after an interval's end its metrics are sent, in seconds, because edges and workers report them late. */
const LATE_SECONDS = 60;

const FACTS = `s.id as service_id, s.workspace_id, s.name as service_name, pr.name as project_name, e.name as environment_name`;
const SERVICES = `services s left join projects pr on pr.id = s.project_id left join environments e on e.id = s.environment_id`;
const OF_DRAIN = `s.workspace_id = :workspace and (cast(:service as uuid) is null or s.id = :service)`;

const scopeOf = ({ drain_id, workspace_id, service_id }: TakenSignal) => {
  return { drain: drain_id, workspace: workspace_id, service: service_id };
};

/** Reads the next unsent records of a signal. Resolves to null if there are none. */
export function readBatch(db: Db, taken: TakenSignal): Promise<Batch | null> {
  return READERS[taken.signal](db, taken);
}

const READERS: Readonly<Record<DrainSignal, (db: Db, taken: TakenSignal) => Promise<Batch | null>>> = {
  logs: readLines,
  metrics: readSteps,
  traces: readDeployments,
};

type LineRow = LogLineRow & ServiceFacts & { sent_id: number; last_id: number };

async function readLines(db: Db, taken: TakenSignal): Promise<Batch | null> {
  const rows = await rowsOf<Omit<LineRow, 'id'> & { id: number | null }>(
    db,
    `with news as (
       select ${FACTS}, c.last_id, coalesce(p.last_id, 0) as sent_id
         from ${SERVICES} join log_counters c on c.service_id = s.id
         left join drain_lines p on p.drain_id = :drain and p.service_id = s.id
        where ${OF_DRAIN} and c.last_id > coalesce(p.last_id, 0)
        order by p.sent_at nulls first, s.id limit ${MAX_SERVICES}
     )
     select n.*, l.*
       from news n left join lateral (
         select id, deployment_id, run_id, source, level, message, logged_at from log_lines
          where service_id = n.service_id and id > n.sent_id
          order by id limit ${MAX_LINES} / (select count(*) from news)) l on true
      order by n.service_id, l.id`,
    scopeOf(taken),
  );
  if (rows.length === 0) return null;
  const waiting = new Map<string, WaitingLines>();
  for (const { id, ...row } of rows) {
    const { service_id: serviceId, sent_id: sentId, last_id: lastId } = row;
    const service = waiting.get(serviceId) ?? { serviceId, sentId, lastId, lines: [] };
    if (id !== null) service.lines.push({ ...row, id });
    waiting.set(serviceId, service);
  }
  const { lines, positions, lost, more } = lineBatch([...waiting.values()], MAX_LINE_BYTES);
  return {
    ...batchOf(lines, logsRequest, ({ logged_at }) => logged_at),
    position: { lines: positions },
    more: more || waiting.size === MAX_SERVICES,
    lost,
    lossText: lost === 0 ? '' : `${lost} lines were deleted before they could be sent`,
  };
}

async function readSteps(db: Db, taken: TakenSignal): Promise<Batch | null> {
  // All services share one position, which is a time. So a batch that contains an interval must contain it for all
  // services.
  const steps = await rowsOf<SentStep & ServiceFacts>(
    db,
    `select ${FACTS}, m.at, m.counts, m.replicas, m.samples, m.cpu, m.memory, m.requests_2xx, m.requests_3xx, m.requests_4xx,
            m.requests_5xx, m.bytes_out, m.latency, m.volume_bytes,
            (select count(*)::int from replica_restarts x
              where x.service_id = m.service_id and x.at >= m.at and x.at < m.at + interval '${FINEST.step} seconds') as restarts
       from ${SERVICES} join service_metrics m on m.service_id = s.id and m.step = ${FINEST.step}
      where ${OF_DRAIN} and m.at > :until and m.at <= now() - make_interval(secs => ${FINEST.step + LATE_SECONDS})
      order by m.at fetch first ${MAX_STEPS} rows with ties`,
    { ...scopeOf(taken), until: taken.sent_until },
  );
  const last = steps.at(-1);
  if (last === undefined) return null;
  const kept = new Date(Date.now() - FINEST.hours * 3_600_000);
  const lossy = taken.behind_since !== null && taken.sent_until < kept;
  return {
    ...batchOf(steps, metricsRequest, ({ at }) => at),
    position: { until: last.at },
    more: steps.length >= MAX_STEPS,
    lossText: lossy ? `metrics from before ${kept.toISOString()} were deleted before they could be sent` : '',
  };
}

async function readDeployments(db: Db, taken: TakenSignal): Promise<Batch | null> {
  const ended = await rowsOf<TracedDeployment>(
    db,
    `select ${FACTS}, d.id, d.status, d.trigger, d.branch, d.commit_sha, d.error, d.steps, d.created_at, d.finished_at, d.traceparent
       from deployments d join ${SERVICES} on s.id = d.service_id
      where d.workspace_id = :workspace and ${OF_DRAIN}
        and d.finished_at > greatest(cast(:until as timestamptz) - ${OVERLAP}, cast(:created as timestamptz))
        and not d.id = any(cast(:sent as uuid[]))
      order by d.finished_at, d.id limit ${MAX_DEPLOYMENTS}`,
    { ...scopeOf(taken), until: taken.sent_until, created: taken.created_at, sent: taken.sent_ids },
  );
  const last = ended.at(-1);
  if (last === undefined) return null;
  const until = last.finished_at > taken.sent_until ? last.finished_at : taken.sent_until;
  return {
    ...batchOf(ended, tracesRequest, ({ finished_at }) => finished_at),
    position: { until, ids: ended.map(({ id }) => id) },
    more: ended.length === MAX_DEPLOYMENTS,
  };
}

function batchOf<T>(records: readonly T[], encode: (records: readonly T[]) => object, timeOf: (record: T) => Date) {
  const times = records.map((record) => timeOf(record).getTime());
  return {
    request: records.length === 0 ? null : encode(records),
    count: records.length,
    oldest: records.length === 0 ? null : new Date(Math.min(...times)),
    lost: 0,
    lossText: '',
  };
}
