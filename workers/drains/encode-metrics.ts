import { FINEST, LATENCY_BOUNDS, type MetricRow } from '../../shared/metrics/model.js';
import { attributes, byService, nanoseconds, SCOPE, type ServiceFacts } from './otlp.js';

export type SentStep = MetricRow & { restarts: number };

/** AGGREGATION_TEMPORALITY_DELTA: each point counts one interval only. */
const DELTA = 1;

/** Returns the OTLP export request for intervals of services' metrics. A metric without any value is left out. */
export function metricsRequest(steps: readonly (SentStep & ServiceFacts)[]) {
  return {
    resourceMetrics: byService(steps).map(({ resource, rows }) => ({
      resource,
      scopeMetrics: [{ scope: SCOPE, metrics: metricsOf(rows) }],
    })),
  };
}

function metricsOf(rows: readonly SentStep[]) {
  const average = (sum: number, count: number) => (count === 0 ? null : sum / count);
  return [
    // The platform measures in percent of the plan; OpenTelemetry's utilization is a fraction.
    gauge('ranvier.service.cpu.utilization', '1', rows, (row) => average(row.cpu / 100, row.samples)),
    gauge('ranvier.service.memory.utilization', '1', rows, (row) => average(row.memory / 100, row.samples)),
    gauge('ranvier.service.replicas', '{replica}', rows, (row) => average(row.replicas, row.counts)),
    gauge('ranvier.service.volume.usage', 'By', rows, (row) => row.volume_bytes),
    sum('ranvier.service.requests', '{request}', rows, (row) =>
      (['2xx', '3xx', '4xx', '5xx'] as const).map((status) => [
        { 'http.response.status_class': status },
        row[`requests_${status}`],
      ]),
    ),
    sum('ranvier.service.sent', 'By', rows, (row) => [[{}, row.bytes_out]]),
    sum('ranvier.service.restarts', '{restart}', rows, (row) => [[{}, row.restarts]]),
    latency(rows),
  ].filter((metric) => metric !== null);
}

function timesOf({ at }: MetricRow) {
  return {
    startTimeUnixNano: nanoseconds(at),
    timeUnixNano: nanoseconds(new Date(at.getTime() + FINEST.step * 1000)),
  };
}

function gauge(name: string, unit: string, rows: readonly SentStep[], figureOf: (row: SentStep) => number | null) {
  const dataPoints = rows.flatMap((row) => {
    const asDouble = figureOf(row);
    return asDouble === null ? [] : [{ ...timesOf(row), asDouble }];
  });
  return dataPoints.length === 0 ? null : { name, unit, gauge: { dataPoints } };
}

function sum(
  name: string,
  unit: string,
  rows: readonly SentStep[],
  countsOf: (row: SentStep) => [Record<string, string>, number][],
) {
  const dataPoints = rows.flatMap((row) =>
    countsOf(row).flatMap(([by, count]) =>
      count === 0 ? [] : [{ ...timesOf(row), attributes: attributes(by), asInt: String(count) }],
    ),
  );
  const counted = { aggregationTemporality: DELTA, isMonotonic: true, dataPoints };
  return dataPoints.length === 0 ? null : { name, unit, sum: counted };
}

function latency(rows: readonly SentStep[]) {
  const dataPoints = rows.flatMap((row) => {
    if (row.latency === null) return [];
    const bucketCounts = Array.from({ length: LATENCY_BOUNDS.length + 1 }, (_, index) => row.latency?.[index] ?? 0);
    const count = String(bucketCounts.reduce((total, one) => total + one, 0));
    return [{ ...timesOf(row), count, bucketCounts: bucketCounts.map(String), explicitBounds: [...LATENCY_BOUNDS] }];
  });
  const histogram = { aggregationTemporality: DELTA, dataPoints };
  return dataPoints.length === 0 ? null : { name: 'ranvier.service.latency', unit: 'ms', histogram };
}
