import { STATUS_CODES } from 'node:http';
import { changedHeaders } from '../rules/header-changes.js';
import type { Exchange } from './exchange.js';

/** A response that the edge itself generates. */
export interface Page {
  status: number;
  code: string;
  title: string;
  message: string;
  headers: Record<string, string>;
}

const SOON = { 'Retry-After': '5' };
const LATER = { 'Retry-After': '120' };

function page(
  status: number,
  code: string,
  title: string,
  message: string,
  headers: Record<string, string> = {},
): Page {
  return { status, code, title, message, headers };
}

export const PAGES = {
  unknownHost: page(404, 'unknown_host', 'Not found', 'No service answers at this address.'),
  notFound: page(404, 'not_found', 'Not found', 'There is no such page here.'),
  notAllowed: page(403, 'address_not_allowed', 'Forbidden', 'This service does not admit your network address.'),
  maintenance: page(
    503,
    'maintenance',
    'Under maintenance',
    'This service is being worked on and will be back soon.',
    LATER,
  ),
  suspended: page(503, 'service_suspended', 'Suspended', 'This service is suspended.', LATER),
  not_deployed: page(503, 'not_deployed', 'Not deployed yet', 'This service has no release yet.', SOON),
  no_ready_replica: page(
    503,
    'no_ready_replica',
    'Not available',
    'No replica of this service is ready at the moment.',
    SOON,
  ),
  badGateway: page(502, 'bad_gateway', 'Bad gateway', 'The service did not give a valid answer.'),
  gatewayTimeout: page(504, 'gateway_timeout', 'Gateway time-out', 'The service did not answer in time.'),
  requestTimeout: page(408, 'request_timeout', 'Request time-out', 'The request was not received in time.'),
  tooManyRequests: page(
    429,
    'too_many_requests',
    'Too many requests',
    'Too many requests from your network address are under way.',
    SOON,
  ),
  rateLimited: page(
    429,
    'rate_limited',
    'Too many requests',
    'Your network address has sent more requests than this service admits. Try again later.',
  ),
  unauthorized: page(401, 'unauthorized', 'Unauthorized', 'This page needs a user name and a password.'),
  passwordsWait: page(503, 'passwords_wait', 'Not available', 'Too many passwords are being checked at the moment.', {
    'Retry-After': '1',
  }),
  methodNotAllowed: page(405, 'method_not_allowed', 'Method not allowed', 'A static site can only be read.', {
    Allow: 'GET, HEAD',
  }),
  rangeNotSatisfiable: page(416, 'range_not_satisfiable', 'Range not satisfiable', 'The file has no such part.'),
  preconditionFailed: page(
    412,
    'precondition_failed',
    'Precondition failed',
    'The file is not the one the request names.',
  ),
  internalError: page(500, 'internal_error', 'Internal error', 'The edge could not answer this request.'),
};

export function badRequest(message: string): Page {
  return page(400, 'bad_request', 'Bad request', message);
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

/** Responds with HTML to browsers and JSON to other clients, unless a response has already started. */
export function sendPage(exchange: Exchange, page: Page): void {
  const { contentType, text } = rendered(page, wantsHtml(exchange) ? 'html' : 'json', exchange.requestId);
  send(exchange, page, contentType, text);
}

/** Renders a page. The request id has no special characters, so it needs no escaping. */
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
  // If writing a replica's response has failed, `res` still has the reason phrase of that response.
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
