export const ALERT_METRICS = ['cpu', 'memory', 'errors', 'latency_p99', 'restarts', 'disk', 'certificate'] as const;
export type AlertMetric = (typeof ALERT_METRICS)[number];

/** `pending`: the value is beyond the threshold, but not for long enough. `unknown`: there is no value. */
export const ALERT_STATUSES = ['unknown', 'ok', 'pending', 'firing'] as const;
export type AlertStatus = (typeof ALERT_STATUSES)[number];

export const MAX_ALERTS = 50;
/** Maximum of `forMinutes`. Metrics in the finest resolution are kept for only three hours. */
export const MAX_FOR_MINUTES = 120;

export interface AlertRule {
  metric: AlertMetric;
  above: number;
  forMinutes: number;
}

const METRICS: Readonly<Record<AlertMetric, { title: string; unit: string; min: number; max: number }>> = {
  cpu: { title: 'CPU use', unit: '%', min: 0, max: 100 },
  memory: { title: 'Memory use', unit: '%', min: 0, max: 100 },
  errors: { title: 'Error rate', unit: '%', min: 0, max: 100 },
  latency_p99: { title: 'Latency (p99)', unit: 'ms', min: 0, max: 30_000 },
  restarts: { title: 'Number of restarts', unit: '', min: 0, max: 1000 },
  disk: { title: 'Disk use', unit: '%', min: 0, max: 100 },
  certificate: { title: 'Certificate', unit: 'days', min: 1, max: 365 },
};

/** Returns why a threshold is invalid for its metric, or null. */
export function thresholdProblem({ metric, above }: Pick<AlertRule, 'metric' | 'above'>): string | null {
  const { min, max } = METRICS[metric];
  return above >= min && above <= max ? null : `must be from ${min} to ${max} for ${metric}`;
}

/** Returns true if a value is beyond the threshold. For a certificate, that means fewer days left. */
export function isBeyond({ metric, above }: Pick<AlertRule, 'metric' | 'above'>, value: number): boolean {
  return metric === 'certificate' ? value < above : value > above;
}

/** Formats a value with its unit, such as `12.5 %`. */
export function valueText(metric: AlertMetric, value: number): string {
  return `${Math.round(value * 100) / 100} ${METRICS[metric].unit}`.trim();
}

/** Formats a rule for display, such as `CPU use above 80 % for 5 minutes`. */
export function ruleText({ metric, above, forMinutes }: AlertRule): string {
  const minutes = forMinutes === 1 ? '1 minute' : `${forMinutes} minutes`;
  if (metric === 'certificate') return `Certificate with fewer than ${above} days left`;
  if (metric === 'restarts') return `More than ${above} restarts within ${minutes}`;
  return `${METRICS[metric].title} above ${valueText(metric, above)} for ${minutes}`;
}

/** Returns the first line of an alert message about a service. */
export function alertTitle(metric: AlertMetric, serviceName: string, isFiring: boolean): string {
  const { title } = METRICS[metric];
  if (!isFiring) return `${serviceName}: ${title} is back to normal`;
  if (metric === 'certificate') return `${serviceName}: a certificate expires soon`;
  return metric === 'restarts' ? `${serviceName} restarts again and again` : `${serviceName}: ${title} is too high`;
}
