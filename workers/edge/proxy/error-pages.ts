import { STATUS_CODES } from 'node:http';
import { changedHeaders } from '../rules/header-changes.js';
import type { Exchange } from './exchange.js';

/** A response that the edge itself generates. */
export interface Page {
  status: number;
  code: string;
  title: string;
  message: string;
  headers?: Record<string, string>;
}

const RETRY_SHORTLY = { 'Retry-After': '5' };
const MAINTENANCE_HEADERS = { 'Retry-After': '120' };

export const PAGES = {
  unknownHost: {
    status: 404,
    code: 'unknown_host',
    title: 'Not found',
    message: 'No service answers at this address.',
  },
  notFound: { status: 404, code: 'not_found', title: 'Not found', message: 'There is no such page here.' },
  notAllowed: {
    status: 403,
    code: 'address_not_allowed',
    title: 'Forbidden',
    message: 'This service does not admit your network address.',
  },
  maintenance: {
    status: 503,
    code: 'maintenance',
    title: 'Under maintenance',
    message: 'This service is being worked on and will be back soon.',
    headers: MAINTENANCE_HEADERS,
  },
  suspended: {
    status: 503,
    code: 'service_suspended',
    title: 'Suspended',
    message: 'This service is suspended.',
    headers: MAINTENANCE_HEADERS,
  },
  not_deployed: {
    status: 503,
    code: 'not_deployed',
    title: 'Not deployed yet',
    message: 'This service has no release yet.',
    headers: RETRY_SHORTLY,
  },
  no_ready_replica: {
    status: 503,
    code: 'no_ready_replica',
    title: 'Not available',
    message: 'No replica of this service is ready at the moment.',
    headers: RETRY_SHORTLY,
  },
  badGateway: {
    status: 502,
    code: 'bad_gateway',
    title: 'Bad gateway',
    message: 'The service did not give a valid answer.',
  },
  gatewayTimeout: {
    status: 504,
    code: 'gateway_timeout',
    title: 'Gateway time-out',
    message: 'The service did not answer in time.',
  },
  requestTimeout: {
    status: 408,
    code: 'request_timeout',
    title: 'Request time-out',
    message: 'The request was not received in time.',
  },
  tooManyRequests: {
    status: 429,
    code: 'too_many_requests',
    title: 'Too many requests',
    message: 'Too many requests from your network address are under way.',
    headers: RETRY_SHORTLY,
  },
  rateLimited: {
    status: 429,
    code: 'rate_limited',
    title: 'Too many requests',
    message: 'Your network address has sent more requests than this service admits. Try again later.',
  },
  unauthorized: {
    status: 401,
    code: 'unauthorized',
    title: 'Unauthorized',
    message: 'This page needs a user name and a password.',
  },
  passwordsWait: {
    status: 503,
    code: 'passwords_wait',
    title: 'Not available',
    message: 'Too many passwords are being checked at the moment.',
    headers: { 'Retry-After': '1' },
  },
  methodNotAllowed: {
    status: 405,
    code: 'method_not_allowed',
    title: 'Method not allowed',
    message: 'A static site can only be read.',
    headers: { Allow: 'GET, HEAD' },
  },
  rangeNotSatisfiable: {
    status: 416,
    code: 'range_not_satisfiable',
    title: 'Range not satisfiable',
    message: 'The file has no such part.',
  },
  preconditionFailed: {
    status: 412,
    code: 'precondition_failed',
    title: 'Precondition failed',
    message: 'The file is not the one the request names.',
  },
  internalError: {
    status: 500,
    code: 'internal_error',
    title: 'Internal error',
    message: 'The edge could not answer this request.',
  },
} as const satisfies Record<string, Page>;

export function badRequest(message: string): Page {
  return { status: 400, code: 'bad_request', title: 'Bad request', message };
}

/** Returns the maintenance page with the owner's message. */
export function maintenanceWith(message: string): Page {
  return { ...PAGES.maintenance, message };
}

/** Responds with a redirect. It is not cached, because the rules and files that cause it may change. */
export function sendRedirect({ res, requestId, headerChanges }: Exchange, status: number, location: string): void {
  if (res.headersSent || res.destroyed) return;
  const headers = ['Location', location, 'Cache-Control', 'no-cache', 'Content-Length', '0', 'X-Request-ID', requestId];
  res.writeHead(status, STATUS_CODES[status] ?? '', changedHeaders(headers, headerChanges));
  res.end();
}

/** Responds with a page: HTML for browsers, JSON for other clients. Does nothing if a response has already started. */
export function sendPage(exchange: Exchange, page: Page): void {
  const { contentType, text } = rendered(page, wantsHtml(exchange) ? 'html' : 'json', exchange.requestId);
  send(exchange, page, contentType, text);
}

/** Renders a page. The only part of the request in it is the request id, which has no special characters. */
export function rendered(
  page: Page,
  format: 'html' | 'json',
  requestId: string,
): { contentType: string; text: string } {
  if (format === 'html') return { contentType: 'text/html; charset=utf-8', text: pageHtml(page, requestId) };
  const { code, message } = page;
  const body = { error: { code, message }, requestId };
  return { contentType: 'application/json; charset=utf-8', text: JSON.stringify(body) };
}

/** Responds for a service under maintenance, with its owner's page or the default page. */
export function sendMaintenance(exchange: Exchange, html: string): void {
  if (html === '') sendPage(exchange, PAGES.maintenance);
  else send(exchange, PAGES.maintenance, 'text/html; charset=utf-8', html);
}

function send({ res, requestId }: Exchange, page: Page, contentType: string, text: string): void {
  if (res.headersSent || res.destroyed) return;
  const body = Buffer.from(text);
  // The reason phrase is set explicitly, because a failed attempt at a replica may have left a bad one in the response.
  res.writeHead(page.status, STATUS_CODES[page.status] ?? '', {
    ...pageHeaders(page, contentType),
    'Content-Length': body.length,
    'X-Request-ID': requestId,
  });
  res.end(body);
}

export function pageHeaders(page: Page, contentType: string): Record<string, string> {
  return {
    ...page.headers,
    'Content-Type': contentType,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  };
}

function wantsHtml({ req }: Exchange): boolean {
  return (req.headers.accept ?? '').toLowerCase().includes('text/html');
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function pageHtml(page: Page, requestId: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${page.title}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; min-height: 100vh; display: grid; place-items: center; color: #1f2328; background: #f6f8fa }
main { max-width: 30rem; padding: 2rem }
h1 { font-size: 1.5rem; margin: 0 0 .5rem }
small { color: #59636e }
</style>
</head>
<body>
<main>
<h1>${page.status} · ${page.title}</h1>
<p>${escaped(page.message)}</p>
<small>Request ${requestId}</small>
</main>
</body>
</html>
`;
}
