import type { Schemas } from '../../api/types.js';
import type { Tone } from '../../ui/tone.js';

type Alert = Schemas['Alert'];
export type Metric = Alert['metric'];

export const METRICS: readonly { value: Metric; text: string; unit: string; usual: string }[] = [
  { value: 'errors', text: 'Error rate', unit: '% of requests answered 5xx', usual: '5' },
  { value: 'latency_p99', text: 'Latency (p99)', unit: 'milliseconds', usual: '1000' },
  { value: 'cpu', text: 'CPU use', unit: '% of the plan', usual: '90' },
  { value: 'memory', text: 'Memory use', unit: '% of the plan', usual: '90' },
  { value: 'restarts', text: 'Restarts', unit: 'restarts within these minutes', usual: '3' },
  { value: 'disk', text: 'Disk use', unit: '% of the volume or plan', usual: '80' },
  { value: 'certificate', text: 'Certificate of a domain', unit: 'days that must be left', usual: '14' },
];

export function metricOf(value: string) {
  return METRICS.find((metric) => metric.value === value) ?? METRICS[0];
}

const SIGN: Partial<Record<Metric, string>> = { latency_p99: ' ms', restarts: '', certificate: ' days' };

/** A value with its unit, such as "12.5 %". */
export function valueText(metric: Metric, value: number): string {
  return `${value}${SIGN[metric] ?? ' %'}`;
}

/** What a rule watches, in words. */
export function ruleText({ metric, above, forMinutes }: Pick<Alert, 'metric' | 'above' | 'forMinutes'>): string {
  const minutes = forMinutes === 1 ? '1 minute' : `${forMinutes} minutes`;
  if (metric === 'certificate') return `Certificate with fewer than ${above} days left`;
  if (metric === 'restarts') return `More than ${above} restarts within ${minutes}`;
  return `${metricOf(metric)?.text} above ${valueText(metric, above)} for ${minutes}`;
}

export const STATUS: Readonly<Record<Schemas['AlertState']['status'], { tone: Tone; text: string }>> = {
  firing: { tone: 'bad', text: 'Firing' },
  pending: { tone: 'warn', text: 'Above, not for long enough' },
  ok: { tone: 'good', text: 'Normal' },
  unknown: { tone: 'plain', text: 'No data' },
};
