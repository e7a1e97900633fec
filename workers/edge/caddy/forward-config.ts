import { READY_PATH } from './readiness-gate.js';

export interface EdgeSockets {
  edge: string;
  /** The socket that tells whether the edge accepts requests. */
  gate: string;
}

export interface ForwardSettings {
  sockets: EdgeSockets;
  timeouts: { headersMs: number };
}

/** The header that carries the client's `Connection` header through Caddy. */
const CONNECTION = 'Ranvier-Connection';

type Json = Record<string, unknown>;

/** How long a request waits while no edge process is running, in milliseconds. */
const TRY_MS = 10_000;
const TRY_AGAIN_MS = 50;
/** Caddy closes idle connections before the edge does. Otherwise it could send a request on a closing connection. */
const KEEP_ALIVE_MS = 30_000;
/** How much longer Caddy waits for a response than the edge, so that visitors get the edge's error page. */
const MARGIN_MS = 60_000;
/** Caddy's HTTP client sends these requests again if the edge has just closed the connection, so they need no gate. */
const REPEATABLE = { method: ['GET', 'HEAD', 'OPTIONS'], not: [{ header: { 'Content-Length': ['*'] } }] };
/** Matches no request, so that Caddy's load balancer repeats no request that the edge may have received. */
const NEVER = { method: ['NEVER'] };

/** Returns the routes that pass every request to the edge process. */
export function forwardRoutes(settings: ForwardSettings): Json[] {
  return [
    { handle: hideConnection() },
    { match: [REPEATABLE], handle: [toEdge(settings)], terminal: true },
    { handle: [throughGate(settings)] },
  ];
}

function toEdge({ sockets, timeouts }: ForwardSettings): Json {
  return {
    handler: 'reverse_proxy',
    upstreams: [{ dial: `unix/${sockets.edge}` }],
    load_balancing: waiting(),
    headers: { request: { set: { Connection: [headerValue(CONNECTION)] }, delete: [CONNECTION] } },
    transport: transport(timeouts.headersMs + MARGIN_MS),
  };
}

/**
 * Holds a request until the gate reports that the edge accepts requests. Otherwise, a restart of the edge would lose
 * requests: Caddy 2.6 loses a request's body when a connection to the edge is refused, and does not repeat a request
 * that the edge may have received.
 */
function throughGate(settings: ForwardSettings): Json {
  return {
    ...gateProxy(settings.sockets.gate),
    rewrite: { method: 'GET', uri: READY_PATH },
    handle_response: [{ match: { status_code: [2] }, routes: [{ handle: [toEdge(settings)] }] }],
  };
}

/**
 * Hides the client's `Connection` header, because Caddy removes every header that `Connection` names. The edge process
 * has stricter rules, and gets all headers. Caddy forwards an upgrade only if `Connection` is `Upgrade`, so every
 * request gets this value.
 */
function hideConnection(): Json[] {
  return [setHeader(CONNECTION, headerValue('Connection')), setHeader('Connection', 'Upgrade')];
}

export function setHeader(name: string, value: string): Json {
  return { handler: 'headers', request: { set: { [name]: [value] } } };
}

function headerValue(header: string): string {
  return `{http.request.header.${header}}`;
}

/** Returns a handler that passes Caddy's own requests, for example about a certificate, to the gate. */
export function gateProxy(socket: string): Json {
  return {
    handler: 'reverse_proxy',
    upstreams: [{ dial: `unix/${socket}` }],
    load_balancing: waiting(),
    transport: transport(TRY_MS),
  };
}

function transport(answerMs: number): Json {
  return {
    protocol: 'http',
    compression: false,
    response_header_timeout: milliseconds(answerMs),
    keep_alive: { idle_timeout: milliseconds(KEEP_ALIVE_MS), max_idle_conns_per_host: 256 },
  };
}

/** Returns settings with which Caddy retries only refused connections, for a limited time. */
function waiting(): Json {
  return {
    retries: TRY_MS / TRY_AGAIN_MS,
    try_duration: milliseconds(TRY_MS),
    try_interval: milliseconds(TRY_AGAIN_MS),
    retry_match: [NEVER],
  };
}

export function milliseconds(value: number): string {
  return `${value}ms`;
}
