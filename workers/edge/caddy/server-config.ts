import { COMPRESS_FROM_BYTES, COMPRESSIBLE_TYPES } from '../proxy/compression.js';
import { FORWARDED_HEADERS, REQUEST_ID } from '../proxy/headers.js';
import { PAGES, type Page, pageHeaders, rendered } from '../proxy/pages.js';
import { MAX_HEADER_BYTES } from '../proxy/upstream.js';
import type { ConfigPart } from './config-part.js';
import { type Stream, serviceName } from './name-server.js';
import { certificateParts, type EdgeTls, redirectConfig } from './tls-config.js';

/** How long Caddy keeps what the name server said. */
export const REFRESH_MS = 250;

export const SERVER_PATH = ['apps', 'http', 'servers', 'ranvier'];
const REDIRECT_PATH = ['apps', 'http', 'servers', 'ranvier_redirect'];

export interface ServerSettings {
  /** The hosts below this domain are services. */
  domain: string;
  port: number;
  tls: EdgeTls | null;
  /** The edge's name server, and its responder. */
  nameServer: string;
  responder: string;
  timeouts: { connectMs: number; headersMs: number; clientHeadersMs: number };
}

type Json = Record<string, unknown>;

/** How long a request waits for a replica that can be connected: for as long an edge process may be away. */
const TRY_MS = 3_000;
const TRY_AGAIN_MS = 50;
/** Shorter than what servers commonly keep idle connections for, so that Caddy closes first. */
const KEEP_ALIVE_MS = 1_500;
const CLIENT_KEEP_ALIVE_MS = 65_000;
const UNTOUCHED = 'identity';
const REQUEST_ID_VALUE = '{http.request.header.X-Request-Id}';
/**
 * A request that a replica may have seen is sent once more, where it is repeatable. Caddy has no bound of its own for that:
 * the second look finds the mark that the first one left. Time-outs are longer than TRY_MS, and so are final.
 */
const REPLAY = {
  method: ['GET', 'HEAD', 'OPTIONS'],
  expression: "{http.regexp.replayed.0} == null && header_regexp('replayed', 'X-Request-Id', '^.')",
};

/** All that is ours in Caddy's configuration. */
export function configParts(settings: ServerSettings): ConfigPart[] {
  const { port, tls, domain, responder } = settings;
  const server = { path: SERVER_PATH, value: serverConfig(settings) };
  if (tls === null) return [{ path: REDIRECT_PATH, value: null }, server];
  const redirect = { path: REDIRECT_PATH, value: redirectConfig(port, tls.port) };
  return [...certificateParts(tls, domain, responder), server, redirect];
}

/**
 * The server of the edge in Caddy's configuration. It knows no single service: which replicas a host has is asked over
 * DNS, so neither a deployment nor a new service changes it. Whoever is no service with replicas gets the responder.
 */
function serverConfig(settings: ServerSettings): Json {
  const { domain, port, timeouts, tls } = settings;
  const services = { host: [`*.${domain}`] };
  return {
    '@id': 'ranvier-edge',
    listen: [`:${tls?.port ?? port}`],
    protocols: ['h1', 'h2'],
    ...(tls === null ? {} : { tls_connection_policies: [{}] }),
    automatic_https: { disable: true },
    read_header_timeout: milliseconds(timeouts.clientHeadersMs),
    idle_timeout: milliseconds(CLIENT_KEEP_ALIVE_MS),
    max_header_bytes: MAX_HEADER_BYTES,
    routes: [
      { match: [{ not: [requestIdMatch()] }], handle: [setRequestId('{http.request.uuid}')] },
      { handle: [tidyHeaders()] },
      { match: [{ header: { Upgrade: ['*h2c*'] } }], handle: [ignoreUpgrade()] },
      {
        match: [{ method: ['GET', 'POST'], not: [{ header: { Range: ['*'] } }, { header: { Upgrade: ['*'] } }] }],
        handle: compression(),
      },
      { match: lasting(services), handle: [toReplicas(settings, 'stream')], terminal: true },
      { match: [services], handle: [toReplicas(settings, 'plain')], terminal: true },
      { handle: [{ handler: 'reverse_proxy', upstreams: [{ dial: settings.responder }], ...forwarding(settings) }] },
    ],
    errors: { routes: errorRoutes() },
  };
}

/** Requests that last: a change of protocol, or an event stream. */
function lasting(services: Json): Json[] {
  return [
    { ...services, header: { Upgrade: ['*'] } },
    { ...services, header: { Accept: ['text/event-stream*'] } },
  ];
}

function toReplicas(settings: ServerSettings, stream: Stream): Json {
  const { nameServer, responder } = settings;
  const resolver = { addresses: [nameServer] };
  return {
    handler: 'reverse_proxy',
    // Where the name server gives no answer, the responder passes the request on.
    upstreams: [{ dial: responder }],
    dynamic_upstreams: {
      source: 'srv',
      name: serviceName('{http.request.host}', stream),
      refresh: milliseconds(REFRESH_MS),
      resolver,
    },
    ...forwarding(settings, { resolver }),
  };
}

function forwarding({ timeouts }: ServerSettings, transport: Json = {}): Json {
  return {
    load_balancing: {
      selection_policy: { policy: 'round_robin' },
      retries: TRY_MS / TRY_AGAIN_MS,
      try_duration: milliseconds(TRY_MS),
      try_interval: milliseconds(TRY_AGAIN_MS),
      retry_match: [REPLAY],
    },
    // Caddy 2.6 leaves alone only what is encoded already.
    headers: {
      response: {
        require: { headers: { 'Cache-Control': ['*no-transform*'], 'Content-Encoding': null } },
        set: { 'Content-Encoding': [UNTOUCHED] },
      },
    },
    transport: {
      protocol: 'http',
      compression: false,
      dial_timeout: milliseconds(timeouts.connectMs),
      response_header_timeout: milliseconds(timeouts.headersMs),
      keep_alive: { idle_timeout: milliseconds(KEEP_ALIVE_MS), max_idle_conns_per_host: 256 },
      ...transport,
    },
  };
}

function requestIdMatch(): Json {
  return { header_regexp: { 'X-Request-Id': { pattern: REQUEST_ID.source } } };
}

function setRequestId(value: string): Json {
  return { handler: 'headers', request: { set: { 'X-Request-Id': [value] } } };
}

/** Takes away what only the edge may say about the client, in whatever spelling, and says the request's id. */
function tidyHeaders(): Json {
  const said = [...FORWARDED_HEADERS].filter((name) => name !== 'x-request-id');
  const spellings = [...FORWARDED_HEADERS].flatMap(underscored);
  return {
    handler: 'headers',
    request: { delete: ['Te', 'Expect', 'Proxy-Authorization', ...said, ...spellings] },
    response: { deferred: true, set: { 'X-Request-Id': [REQUEST_ID_VALUE] } },
  };
}

/** The ways to write a name with underscores, which CGI-like servers cannot tell from it. */
function underscored(name: string): string[] {
  const [first = '', ...rest] = name.split('-');
  const all = rest.reduce((names, part) => names.flatMap((n) => [`${n}-${part}`, `${n}_${part}`]), [first]);
  return all.filter((spelling) => spelling !== name);
}

/** An offer of HTTP/2, which a server is free to ignore (RFC 9110, 7.8). */
function ignoreUpgrade(): Json {
  return { handler: 'headers', request: { delete: ['Upgrade', 'Http2-Settings'] } };
}

/**
 * Compresses what is of known length: Caddy 2.6 would hold back what is streamed. A representation that is encoded on the
 * way is equal to the replica's in content, not in bytes.
 */
function compression(): Json[] {
  const types = [...COMPRESSIBLE_TYPES].flatMap((type) => [type, `${type};*`]);
  const weaken = { Etag: [{ search_regexp: '^"', replace: 'W/"' }] };
  return [
    onResponse({ 'Content-Encoding': ['gzip', 'zstd'] }, { replace: weaken }),
    onResponse({ 'Content-Encoding': [UNTOUCHED] }, { delete: ['Content-Encoding'] }),
    {
      handler: 'encode',
      encodings: { zstd: {}, gzip: {} },
      prefer: ['zstd', 'gzip'],
      minimum_length: COMPRESS_FROM_BYTES,
      match: { headers: { 'Content-Type': types, 'Content-Length': ['*'] } },
    },
  ];
}

function onResponse(headers: Json, change: Json): Json {
  return { handler: 'headers', response: { deferred: true, require: { headers }, ...change } };
}

/** What Caddy itself answers, in the words of the edge. */
function errorRoutes(): Json[] {
  const pages: Page[] = [PAGES.badGateway, PAGES.no_ready_replica, PAGES.gatewayTimeout];
  const routes = pages.flatMap((page) => {
    const match = { expression: `{http.error.status_code} == ${page.status}` };
    return [
      { match: [{ ...match, header: { Accept: ['*text/html*'] } }], handle: [errorPage(page, 'html')], terminal: true },
      { match: [match], handle: [errorPage(page, 'json')], terminal: true },
    ];
  });
  return routes;
}

function errorPage(page: Page, format: 'html' | 'json'): Json {
  const { contentType, text } = rendered(page, format, REQUEST_ID_VALUE);
  const headers = { ...pageHeaders(page, contentType), 'X-Request-Id': REQUEST_ID_VALUE };
  return {
    handler: 'static_response',
    status_code: String(page.status),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    body: text,
  };
}

function milliseconds(value: number): string {
  return `${value}ms`;
}
