import type { Schemas } from '../../api/types.js';
import type { Line } from './chart.js';

type Series = Schemas['MetricSeries'];
type Name = Series['name'];

export interface ChartOf {
  title: string;
  series: readonly (Line & { series: Name })[];
  format: (value: number) => string;
  whole?: true;
  /** True if the caption shows the sum over the time range, and not the latest value. */
  total?: true;
}

const percent = (value: number) => `${value < 10 ? Number(value.toFixed(1)) : Math.round(value)} %`;
const count = (value: number) => (value >= 1000 ? `${(value / 1000).toFixed(1)} k` : String(Math.round(value)));
const milliseconds = (value: number) => (value >= 1000 ? `${(value / 1000).toFixed(1)} s` : `${Math.round(value)} ms`);

function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB'];
  let index = 0;
  let rest = value;
  while (rest >= 1000 && index < units.length - 1) {
    rest /= 1000;
    index++;
  }
  return `${rest < 10 && index > 0 ? rest.toFixed(1) : Math.round(rest)} ${units[index]}`;
}

export const CHARTS: readonly ChartOf[] = [
  { title: 'CPU', format: percent, series: [{ series: 'cpu', name: 'of the plan', colour: '--accent' }] },
  { title: 'Memory', format: percent, series: [{ series: 'memory', name: 'of the plan', colour: '--accent' }] },
  {
    title: 'Requests',
    format: count,
    whole: true,
    total: true,
    series: [
      { series: 'requests_2xx', name: '2xx', colour: '--good' },
      { series: 'requests_3xx', name: '3xx', colour: '--dim', dash: [2, 4] },
      { series: 'requests_4xx', name: '4xx', colour: '--warn', dash: [6, 3] },
      { series: 'requests_5xx', name: '5xx', colour: '--bad' },
    ],
  },
  {
    title: 'Latency',
    format: milliseconds,
    series: [
      { series: 'latency_p50', name: 'p50', colour: '--accent' },
      { series: 'latency_p99', name: 'p99', colour: '--accent', dash: [5, 4] },
    ],
  },
  {
    title: 'Outbound traffic',
    format: bytes,
    total: true,
    series: [{ series: 'bytes_out', name: 'sent', colour: '--accent' }],
  },
  { title: 'Volumes', format: bytes, series: [{ series: 'volume_bytes', name: 'used', colour: '--accent' }] },
  {
    title: 'Replicas',
    format: count,
    whole: true,
    series: [{ series: 'replicas', name: 'running', colour: '--accent' }],
  },
];

export function captionOf({ series, format, total }: ChartOf, values: readonly (readonly (number | null)[])[]): string {
  return series
    .flatMap(({ name }, index) => {
      const known = (values[index] ?? []).filter((value) => value !== null);
      const shown = total ? known.reduce((sum, value) => sum + value, 0) : known.at(-1);
      return known.length === 0 || shown === undefined ? [] : [`${format(shown)} ${name}`];
    })
    .join(', ');
}

/** Times are in seconds since 1970. A value is null where its series has no point. */
export function aligned(all: readonly Series[], names: readonly Name[]) {
  const chosen = names.map(
    (name) => new Map(all.find((one) => one.name === name)?.points.map(([at, value]) => [at, value])),
  );
  const times = [...new Set(chosen.flatMap((points) => [...points.keys()]))].sort();
  return {
    times: times.map((at) => Date.parse(at) / 1000),
    values: chosen.map((points) => times.map((at) => points.get(at) ?? null)),
  };
}
