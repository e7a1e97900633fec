import { webhookUrlProblem } from '../webhooks/model.js';

export const DRAIN_SIGNALS = ['logs', 'metrics', 'traces'] as const;
export type DrainSignal = (typeof DRAIN_SIGNALS)[number];

export const MAX_DRAINS = 5;
export const MAX_HEADERS = 10;

/** Headers that the platform sets itself, or that apply only to the connection. */
const RESERVED =
  /^(accept-encoding|connection|content-.*|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|user-agent)$/i;

/** Returns why a collector's address is invalid, or null. Host names are checked later, when data is sent. */
export function endpointProblem(endpoint: string, allowLocal: boolean): string | null {
  const problem = webhookUrlProblem(endpoint, allowLocal);
  if (problem !== null) return problem;
  const { search, hash, pathname } = new URL(endpoint);
  if (search !== '' || hash !== '') return 'must have no query and no fragment; send secrets in headers';
  return /\/v1\/(logs|metrics|traces)\/?$/.test(pathname)
    ? 'must end before /v1/logs, /v1/metrics and /v1/traces'
    : null;
}

/** Returns the first header that a drain may not set; undefined if all are allowed. */
export function reservedHeader(headers: Readonly<Record<string, string>>): string | undefined {
  return Object.keys(headers).find((name) => RESERVED.test(name));
}

/** Returns the URL to which a drain sends one kind of data: logs, metrics or traces. */
export function signalUrl(endpoint: string, signal: DrainSignal): string {
  return `${endpoint.replace(/\/+$/, '')}/v1/${signal}`;
}
