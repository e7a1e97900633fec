import { PAGES, type Page, pageHeaders, rendered } from '../proxy/error-pages.js';
import { REQUEST_ID } from '../proxy/proxy-headers.js';
import { MAX_HEADER_BYTES } from '../proxy/replicas/replica-connections.js';
import type { ConfigPart } from './config-part.js';
import { type EdgeSockets, forwardRoutes, milliseconds, setHeader } from './forward-config.js';
import { certificateParts, type EdgeTls, redirectConfig } from './tls-config.js';

const SERVER_PATH = ['apps', 'http', 'servers', 'ranvier'];
const REDIRECT_PATH = ['apps', 'http', 'servers', 'ranvier_redirect'];

export interface ServerSettings {
  domain: string;
  port: number;
  tls: EdgeTls | null;
  sockets: EdgeSockets;
  timeouts: { headersMs: number; clientHeadersMs: number };
}

type Json = Record<string, unknown>;

const CLIENT_KEEP_ALIVE_MS = 65_000;
const REQUEST_ID_VALUE = '{http.request.header.X-Request-Id}';

/** Returns everything that the edge writes into Caddy's configuration. */
export function configParts(settings: ServerSettings): ConfigPart[] {
  const { port, tls, domain, sockets } = settings;
  const server = { path: SERVER_PATH, value: serverConfig(settings) };
  if (tls === null) return [{ path: REDIRECT_PATH, value: null }, server];
  const redirect = { path: REDIRECT_PATH, value: redirectConfig(port, tls.port, sockets.gate) };
  return [redirect, ...certificateParts(tls, domain, port), server];
}

/** The configuration names no service, so that deployments do not change it. */
function serverConfig(settings: ServerSettings): Json {
  const { port, timeouts, tls } = settings;
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
      { match: [{ not: [requestIdMatch()] }], handle: [setHeader('X-Request-Id', '{http.request.uuid}')] },
      ...forwardRoutes(settings),
    ],
    errors: { routes: errorRoutes() },
  };
}

function requestIdMatch(): Json {
  return { header_regexp: { 'X-Request-Id': { pattern: REQUEST_ID.source } } };
}

/** Caddy's own errors get the text of the edge's pages. */
function errorRoutes(): Json[] {
  const pages: Page[] = [PAGES.badGateway, PAGES.gatewayTimeout];
  return pages.flatMap((page) => {
    const match = { expression: `{http.error.status_code} == ${page.status}` };
    return [
      { match: [{ ...match, header: { Accept: ['*text/html*'] } }], handle: [errorPage(page, 'html')], terminal: true },
      { match: [match], handle: [errorPage(page, 'json')], terminal: true },
    ];
  });
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
