/** Intervals of `step` seconds, kept for `hours`. Each resolution is aggregated from the next finer one. */
export interface Resolution {
  step: number;
  hours: number;
}

export const RESOLUTIONS = [
  { step: 15, hours: 3 },
  { step: 300, hours: 72 },
  { step: 3600, hours: 744 },
] as const satisfies readonly Resolution[];

export const FINEST = RESOLUTIONS[0];
export const MAX_HOURS = RESOLUTIONS[2].hours;

export const ROWS_PER_SERVICE = RESOLUTIONS.reduce((sum, { step, hours }) => sum + (hours * 3600) / step, 0);

/** Returns the finest resolution that is kept for this many hours. */
export function resolutionFor(hours: number): Resolution {
  return RESOLUTIONS.find((resolution) => hours <= resolution.hours) ?? RESOLUTIONS[2];
}

/** Upper bounds of the latency histogram's buckets, in milliseconds. One more bucket holds everything above. */
export const LATENCY_BOUNDS = [
  1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1_000, 1_500, 2_500, 5_000, 10_000, 30_000,
] as const;

/** Returns the index of a latency's histogram bucket. */
export function latencyClass(ms: number): number {
  const index = LATENCY_BOUNDS.findIndex((bound) => ms <= bound);
  return index < 0 ? LATENCY_BOUNDS.length : index;
}

/** Returns the latency that this share of responses does not exceed, in ms; null without responses. */
export function quantile(counts: readonly number[], share: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const rank = share * total;
  let below = 0;
  for (const [index, count] of counts.entries()) {
    if (count > 0 && below + count >= rank) {
      const from = LATENCY_BOUNDS[index - 1] ?? 0;
      const to = LATENCY_BOUNDS[index] ?? from;
      return Math.round((from + ((rank - below) / count) * (to - from)) * 100) / 100;
    }
    below += count;
  }
  return LATENCY_BOUNDS.at(-1) ?? null;
}

export interface MetricRow {
  at: Date;
  counts: number;
  replicas: number;
  samples: number;
  cpu: number;
  memory: number;
  requests_2xx: number;
  requests_3xx: number;
  requests_4xx: number;
  requests_5xx: number;
  bytes_out: number;
  latency: number[] | null;
  volume_bytes: number | null;
}

export interface Series {
  name: string;
  unit: string;
  /** The start of an interval and its value. Intervals without data have no point. */
  points: [string, number][];
}

interface SeriesDefinition {
  name: string;
  unit: string;
  value: (row: MetricRow) => number | null;
}

const averaged = (sum: number, samples: number) => (samples === 0 ? null : Math.round((sum / samples) * 100) / 100);

/** All series in display order. Requests and sent bytes are sums over an interval, volume bytes the maximum. */
const SERIES: readonly SeriesDefinition[] = [
  { name: 'cpu', unit: 'percent', value: (row) => averaged(row.cpu, row.samples) },
  { name: 'memory', unit: 'percent', value: (row) => averaged(row.memory, row.samples) },
  { name: 'replicas', unit: 'replicas', value: (row) => averaged(row.replicas, row.counts) },
  { name: 'requests_2xx', unit: 'requests', value: (row) => row.requests_2xx },
  { name: 'requests_3xx', unit: 'requests', value: (row) => row.requests_3xx },
  { name: 'requests_4xx', unit: 'requests', value: (row) => row.requests_4xx },
  { name: 'requests_5xx', unit: 'requests', value: (row) => row.requests_5xx },
  { name: 'latency_p50', unit: 'milliseconds', value: (row) => quantile(row.latency ?? [], 0.5) },
  { name: 'latency_p99', unit: 'milliseconds', value: (row) => quantile(row.latency ?? [], 0.99) },
  { name: 'bytes_out', unit: 'bytes', value: (row) => row.bytes_out },
  { name: 'volume_bytes', unit: 'bytes', value: (row) => row.volume_bytes },
];

export const SERIES_NAMES = SERIES.map(({ name }) => name);

/** Converts a service's rows, oldest first, to series. */
export function seriesOf(rows: readonly MetricRow[]): Series[] {
  const times = rows.map(({ at }) => at.toISOString());
  return SERIES.map(({ name, unit, value }) => ({
    name,
    unit,
    points: rows.flatMap((row, index): [string, number][] => {
      const figure = value(row);
      return figure === null ? [] : [[times[index] ?? '', figure]];
    }),
  }));
}
