import type { Schemas } from '../../api/types.js';
import type { Tone } from '../../ui/tone.js';

type Alert = Schemas['Alert'];
export type Metric = Alert['metric'];

export const METRIC: Readonly<Record<Metric, { text: string; unit: string; usual: string; sign: string }>> = {
  errors: { text: 'Error rate', unit: '% of requests answered 5xx', usual: '5', sign: ' %' },
  latency_p99: { text: 'Latency (p99)', unit: 'milliseconds', usual: '1000', sign: ' ms' },
  cpu: { text: 'CPU use', unit: '% of the plan', usual: '90', sign: ' %' },
  memory: { text: 'Memory use', unit: '% of the plan', usual: '90', sign: ' %' },
  restarts: { text: 'Restarts', unit: 'restarts within these minutes', usual: '3', sign: '' },
  disk: { text: 'Disk use', unit: '% of the volume or plan', usual: '80', sign: ' %' },
  certificate: { text: 'Certificate of a domain', unit: 'days that must be left', usual: '14', sign: ' days' },
};

export const METRICS = (Object.keys(METRIC) as Metric[]).map((value) => ({ value, text: METRIC[value].text }));

export function valueText(metric: Metric, value: number): string {
  return `${value}${METRIC[metric].sign}`;
}

export function ruleText({ metric, above, forMinutes }: Pick<Alert, 'metric' | 'above' | 'forMinutes'>): string {
  const minutes = forMinutes === 1 ? '1 minute' : `${forMinutes} minutes`;
  if (metric === 'certificate') return `Certificate with fewer than ${above} days left`;
  if (metric === 'restarts') return `More than ${above} restarts within ${minutes}`;
  return `${METRIC[metric].text} above ${valueText(metric, above)} for ${minutes}`;
}

export const STATUS: Readonly<Record<Schemas['AlertState']['status'], { tone: Tone; text: string }>> = {
  firing: { tone: 'bad', text: 'Firing' },
  pending: { tone: 'warn', text: 'Above, not for long enough' },
  ok: { tone: 'good', text: 'Normal' },
  unknown: { tone: 'plain', text: 'No data' },
};
