import { validateHeaderName, validateHeaderValue } from 'node:http';
import { connectionTokens, eachPair, HOP_BY_HOP } from './headers.js';
import { withoutForeignDomain } from './set-cookie.js';

/** A replica answered with something that is no HTTP answer, or none that may be passed on. */
export class InvalidAnswerError extends Error {
  constructor(problem: string) {
    super(`the replica's answer is not valid: ${problem}`);
    this.name = 'InvalidAnswerError';
  }
}

/** Interim answers before the one that counts; a replica that sends more keeps its client waiting for nothing. */
export const MAX_INTERIM = 16;

/** The status of a final answer. Throws `InvalidAnswerError` for an interim one and for one that is not of three digits. */
export function checkedStatus(status: number | undefined): number {
  if (status === undefined || !Number.isInteger(status) || status < 200 || status > 999) {
    throw new InvalidAnswerError(`status ${status}`);
  }
  return status;
}

interface Asked {
  requestId: string;
  /** The host that was asked for. */
  host: string;
}

/**
 * What the client is told, from a replica's raw response headers. The reason phrase is never passed on: nobody needs it, and
 * it may hold what cannot be written. Throws `InvalidAnswerError` for names and values that HTTP does not allow.
 */
export function clientHeaders(raw: readonly (string | Buffer)[], { requestId, host }: Asked, status = 200): string[] {
  const pairs: [string, string][] = [];
  let connection = '';
  eachPair(raw.map(latin1), (name, value) => {
    assertHeader(name, value);
    if (name.toLowerCase() === 'connection') connection += `,${value}`;
    pairs.push([name, value]);
  });
  const named = connectionTokens(connection);
  const headers: string[] = [];
  for (const [name, value] of pairs) {
    const lower = name.toLowerCase();
    if (HOP_BY_HOP.has(lower) || lower === 'x-request-id' || named.has(lower)) continue;
    // A 204 has no body, whatever length it claims (RFC 9110, 8.6).
    if (status === 204 && lower === 'content-length') continue;
    headers.push(name, lower === 'set-cookie' || lower === 'set-cookie2' ? withoutForeignDomain(value, host) : value);
  }
  headers.push('X-Request-ID', requestId);
  return headers;
}

function assertHeader(name: string, value: string): void {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch {
    throw new InvalidAnswerError(`header ${JSON.stringify(name).slice(0, 100)}`);
  }
}

function latin1(value: string | Buffer): string {
  return typeof value === 'string' ? value : value.toString('latin1');
}
