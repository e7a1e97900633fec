import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Headers that concern a single connection (RFC 9110, 7.6.1), and `expect`, to which the edge itself responds. */
export const HOP_BY_HOP = new Set(
  `connection keep-alive proxy-connection proxy-authenticate proxy-authorization transfer-encoding te trailer upgrade
  expect http2-settings`.split(/\s+/),
);
/** Frameworks trust the address, scheme or path in these headers, so the edge drops them if a client sends them. */
const PROXY_HEADERS = new Set(
  `forwarded x-real-ip x-client-ip x-cluster-client-ip client-ip x-host x-scheme x-url-scheme x-script-name x-rewrite-url
  front-end-https x-envoy-external-address proxy x-request-id`.split(/\s+/),
);

function isProxyHeader(name: string): boolean {
  return PROXY_HEADERS.has(name) || name.startsWith('x-forwarded') || name.startsWith('x-original-');
}
/** `Connection` must not remove these headers (RFC 9110, 7.6.1), on which an application may rely. */
const END_TO_END = new Set(
  `age allow api-key authorization baggage cookie cookie2 date depth destination dnt early-data etag expires from host
  idempotency-key last-event-id last-modified link location max-forwards method origin overwrite pragma prefer priority
  range referer retry-after save-data server service-worker set-cookie set-cookie2 slug soapaction
  strict-transport-security timeout traceparent tracestate true-client-ip upgrade-insecure-requests user-agent vary via
  warning www-authenticate`.split(/\s+/),
);
/** Groups of end-to-end headers: conditional, representation, caching, CORS, fetch metadata, proxy headers. */
const END_TO_END_PREFIX =
  /^(accept|access-control|alt-|authentication|cache-|cdn-|cf-|clear-site|content-|cross-origin|device-|digest|dpop|fastly-|forwarded|grpc-|if-|permissions-|referrer-|repr-|sec-|server-|signature|timing-|want-|x-amz|x-api|x-auth|x-client|x-content|x-correlation|x-csrf|x-forwarded|x-frame|x-goog|x-http-method|x-original|x-real|x-request|x-requested|x-token|x-trace|x-user|x-xsrf)/;

function isEndToEnd(name: string): boolean {
  return END_TO_END.has(name) || END_TO_END_PREFIX.test(name);
}

export const REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Returns the client's `X-Request-ID` if it is well-formed, otherwise a new id. */
export function requestIdOf(req: IncomingMessage): string {
  const given = req.headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
}

/** Returns the requested host in lower case, without port and final dot. */
export function hostOf(req: IncomingMessage): string {
  return (req.headers.host ?? '').toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
}

export interface Client {
  /** An IPv4 address has the form `192.0.2.1`, and not the form `::ffff:192.0.2.1` that a socket shows. */
  address: string;
  protocol: 'http' | 'https';
}

/** Returns the socket's peer or, with `behindProxy`, the client that the trusted proxy names. */
export function clientOf(req: IncomingMessage, behindProxy: boolean): Client {
  const forwarded = behindProxy ? req.headers['x-forwarded-for'] : undefined;
  const address = typeof forwarded === 'string' ? forwarded : (req.socket.remoteAddress ?? '');
  return {
    address: address.replace(/^::ffff:(?=\d+\.)/i, ''),
    protocol: behindProxy && req.headers['x-forwarded-proto'] === 'https' ? 'https' : 'http',
  };
}

/**
 * Returns why a request is ambiguous; null if it is not. Two HTTP servers could read an ambiguous request differently.
 */
export function ambiguity(req: IncomingMessage): string | null {
  const encoding = req.headers['transfer-encoding'];
  if (isRepeated(req.rawHeaders, 'host')) return 'The request has more than one Host header.';
  if (isRepeated(req.rawHeaders, 'content-length')) return 'The request has more than one Content-Length header.';
  if (encoding !== undefined && req.headers['content-length'] !== undefined) {
    return 'The request has both Content-Length and Transfer-Encoding.';
  }
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked') {
    return 'Only the transfer encoding "chunked" is understood.';
  }
  if (req.url === undefined || !req.url.startsWith('/')) return 'The request target must be a path.';
  return null;
}

function isRepeated(raw: readonly string[], name: string): boolean {
  let count = 0;
  for (let i = 0; i < raw.length; i += 2) if (isNamed(raw[i], name)) count += 1;
  return count > 1;
}

function isNamed(name: string | undefined, lower: string): boolean {
  return name?.length === lower.length && name.toLowerCase() === lower;
}

export function hasBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}

/** Returns the headers for a replica, as a flat list of names and values. */
export function upstreamHeaders(req: IncomingMessage, client: Client, requestId: string): string[] {
  const { rawHeaders } = req;
  const named = connectionTokens(req.headers.connection);
  const headers: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    const lower = name.toLowerCase();
    // CGI-like servers cannot distinguish X_Forwarded_For from X-Forwarded-For.
    const canonical = lower.includes('_') ? lower.replaceAll('_', '-') : lower;
    if (HOP_BY_HOP.has(canonical) || isProxyHeader(canonical) || named.has(lower)) continue;
    if (canonical === 'content-length' && canonical !== lower) continue;
    headers.push(name, rawHeaders[i + 1] ?? '');
  }
  headers.push('X-Forwarded-For', client.address, 'X-Forwarded-Proto', client.protocol);
  headers.push('X-Forwarded-Host', req.headers.host ?? '', 'X-Request-ID', requestId);
  return headers;
}

const COMMON_TOKENS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['', new Set<string>()],
  ['keep-alive', new Set(['keep-alive'])],
  ['Keep-Alive', new Set(['keep-alive'])],
  ['close', new Set(['close'])],
]);

/** Returns the names that `Connection` lists, in lower case, without end-to-end headers. */
export function connectionTokens(value: string | undefined): ReadonlySet<string> {
  const known = COMMON_TOKENS.get(value ?? '');
  if (known !== undefined) return known;
  const tokens = (value ?? '').toLowerCase().split(',');
  return new Set(tokens.map((token) => token.trim()).filter((token) => token !== '' && !isEndToEnd(token)));
}

export function eachPair(flat: readonly string[], visit: (name: string, value: string) => void): void {
  for (let i = 0; i + 1 < flat.length; i += 2) visit(flat[i] ?? '', flat[i + 1] ?? '');
}

/** Returns a header's values, joined with commas; '' if it is missing. `wanted` is in lower case. */
export function valuesOf(flat: readonly string[], wanted: string): string {
  let values = '';
  for (let i = 0; i + 1 < flat.length; i += 2) {
    if (isNamed(flat[i], wanted)) values = values === '' ? (flat[i + 1] ?? '') : `${values}, ${flat[i + 1]}`;
  }
  return values;
}
