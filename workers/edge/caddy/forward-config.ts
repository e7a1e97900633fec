import { READY_PATH } from './gate.js';

/** The Unix sockets of the edge process. */
export interface EdgeSockets {
  /** Takes requests. */
  edge: string;
  /** Says whether it does. */
  gate: string;
}

export interface ForwardSettings {
  sockets: EdgeSockets;
  timeouts: { headersMs: number };
}

/** Caddy's own name for the client's `Connection` header, on its way through Caddy. */
const CONNECTION = 'Ranvier-Connection';

type Json = Record<string, unknown>;

/** How long a request waits for an edge process that is away. */
const TRY_MS = 10_000;
const TRY_AGAIN_MS = 50;
/** Caddy closes an idle connection before the edge process does, which could be at work on closing it when a request comes. */
const KEEP_ALIVE_MS = 30_000;
/** Beyond what the edge process itself waits for replicas: its own answers come first. */
const MARGIN_MS = 60_000;
/** Go sends these again by itself if the connection that it had kept is closed meanwhile. */
const REPEATABLE = { method: ['GET', 'HEAD', 'OPTIONS'], not: [{ header: { 'Content-Length': ['*'] } }] };
/** Matches no request: nothing that reached the edge process is sent to it again. */
const NEVER = { method: ['NEVER'] };

/** The routes by which Caddy passes every request to the edge process. */
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
 * Caddy 2.6 loses a request's body when a connection to the edge is refused, and Go does not repeat what may have been
 * seen. Such a request is held until the gate says that the edge takes requests; an edge that ends closes its gate first.
 */
function throughGate(settings: ForwardSettings): Json {
  return {
    ...gateProxy(settings.sockets.gate),
    rewrite: { method: 'GET', uri: READY_PATH },
    handle_response: [{ match: { status_code: [2] }, routes: [{ handle: [toEdge(settings)] }] }],
  };
}

/**
 * Caddy takes away each header that the client's `Connection` names, whichever it is. The edge process decides that better,
 * so it gets the client's `Connection` and all headers. Caddy passes an upgrade on if `Connection` says so here.
 */
function hideConnection(): Json[] {
  const set = (name: string, value: string) => ({ handler: 'headers', request: { set: { [name]: [value] } } });
  return [set(CONNECTION, headerValue('Connection')), set('Connection', 'Upgrade')];
}

function headerValue(header: string): string {
  return `{http.request.header.${header}}`;
}

/** Passes a question on to the gate. */
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

/** Connections that are refused are tried again for a while; nothing else is. */
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
