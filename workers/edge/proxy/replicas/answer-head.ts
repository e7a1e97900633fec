import type { Dispatcher } from 'undici';
import { connectionTokens, HOP_BY_HOP, valuesOf } from '../proxy-headers.js';
import { withoutForeignDomain } from '../set-cookie.js';

/** Thrown if a replica's response is not valid HTTP, or must not be forwarded. */
export class InvalidAnswerError extends Error {
  constructor(problem: string) {
    super(`the replica's answer is not valid: ${problem}`);
    this.name = 'InvalidAnswerError';
  }
}

/** If a replica sends more interim (1xx) responses, the request fails. */
export const MAX_INTERIM = 16;

/** Returns the status of a final response. Throws `InvalidAnswerError`. */
export function checkedStatus(status: number | undefined): number {
  if (status === undefined || !Number.isInteger(status) || status < 200 || status > 999) {
    throw new InvalidAnswerError(`status ${status}`);
  }
  return status;
}

interface Asked {
  requestId: string;
  host: string;
}

/** Returns the headers that the client gets for a replica's response. `raw` has the replica's own headers. */
export function clientHeaders(raw: readonly string[], { requestId, host }: Asked, status = 200): string[] {
  const named = connectionTokens(valuesOf(raw, 'connection'));
  const headers: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? '';
    const value = raw[i + 1] ?? '';
    const lower = name.toLowerCase();
    if (HOP_BY_HOP.has(lower) || lower === 'x-request-id' || named.has(lower)) continue;
    // A 204 has no body, whatever length it declares (RFC 9110, 8.6).
    if (status === 204 && lower === 'content-length') continue;
    headers.push(name, lower === 'set-cookie' || lower === 'set-cookie2' ? withoutForeignDomain(value, host) : value);
  }
  headers.push('X-Request-ID', requestId);
  return headers;
}

/** Returns a response's headers unchanged, as a flat list of names and values. */
export function rawHeadersOf({ rawHeaders }: Dispatcher.DispatchController): string[] {
  return Array.isArray(rawHeaders)
    ? rawHeaders.map((text) => (typeof text === 'string' ? text : text.toString('latin1')))
    : [];
}
