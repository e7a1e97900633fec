import { takeSide } from '../canary/visitor-side.js';
import { applyRules, printable } from '../rules/apply-rules.js';
import { badRequest, PAGES, sendMaintenance, sendPage, sendRedirect } from './error-pages.js';
import type { Exchange } from './exchange.js';
import { type HeldRequests, holds } from './held-requests.js';
import type { LiveRoute, LiveTable } from './live-table.js';
import { ambiguity, hasBody } from './proxy-headers.js';
import { forward } from './replicas/forward-request.js';
import { type StaticTarget, serveSite } from './sites/static-site.js';
import { isAllowed } from './visitors/allow-list.js';

export const HEALTH_PATH = '/.ranvier/healthz';

export interface AnswerSources {
  table: LiveTable;
  imagesDir: string;
  /** Reloads a service's route. Never rejects, and resolves within a time limit. */
  refresh: (serviceId: string) => Promise<void>;
  held: HeldRequests;
  /** Wakes a sleeping service. Never throws. */
  wake: (serviceId: string) => void;
}

/** Responds to a request. `rulesApplied` is true if the rules of its service have admitted it. */
export function answer(exchange: Exchange, sources: AnswerSources, rulesApplied = false): void {
  const { table } = sources;
  const { req, upgrade } = exchange;
  const problem = ambiguity(req) ?? (upgrade && hasBody(req) ? 'An upgrade request must not have a body.' : null);
  const live = problem === null ? table.find(exchange.host) : undefined;
  if (problem !== null) {
    // Close the connection: its next bytes could be this request's body or the next request (RFC 9112, 6.3).
    exchange.res.shouldKeepAlive = false;
    sendPage(exchange, badRequest(problem));
  } else if (live === undefined) answerUnknownHost(exchange);
  else {
    const { maintenance, redirectTo, rules, target } = live.route;
    exchange.traffic = live.traffic;
    const isSuspended = target.type === 'unavailable' && target.reason === 'suspended';
    if (!isAllowed(live.allow, exchange.client.address)) sendPage(exchange, PAGES.notAllowed);
    else if (maintenance !== null) sendMaintenance(exchange, maintenance);
    else if (redirectTo !== undefined) sendRedirect(exchange, 301, addressOn(redirectTo, exchange));
    else if (rules === undefined || rulesApplied || isSuspended) serve(exchange, live, sources);
    else applyRules(exchange, rules, target.type === 'static', () => answer(exchange, sources, true));
  }
}

function addressOn(host: string, { req, client }: Exchange): string {
  const port = /:\d+$/.exec(req.headers.host ?? '')?.[0] ?? '';
  return `${client.protocol}://${host}${port}${printable(req.url ?? '/')}`;
}

function serve(exchange: Exchange, { route, canary }: LiveRoute, sources: AnswerSources): void {
  const { table, imagesDir, refresh } = sources;
  if (route.target.type === 'unavailable') {
    if (!holdRequest(exchange, sources)) sendPage(exchange, PAGES[route.target.reason]);
  } else if (route.target.type === 'static') answerFromSite(exchange, route.target, imagesDir);
  else {
    const side = canary === null ? null : takeSide(exchange, canary);
    const upstreams = () => {
      const live = table.find(exchange.host);
      // Once the canary is over, all visitors get the live release.
      const isNew = side === 'new' && live?.canary?.deploymentId === canary?.deploymentId;
      return (isNew ? live?.canary?.upstreams : live?.upstreams) ?? [];
    };
    forward(exchange, {
      upstreams,
      refresh: () => refresh(route.serviceId),
      hold: () => holdRequest(exchange, sources),
    });
  }
}

/** Holds a request until the service has a replica. Returns false if the request must be answered now. */
function holdRequest(exchange: Exchange, sources: AnswerSources): boolean {
  const { table, held } = sources;
  const route = table.find(exchange.host)?.route;
  if (route === undefined || !holds(route)) return false;
  if (route.target.type === 'unavailable' && route.target.wakes) sources.wake(route.serviceId);
  return held.hold(exchange, route, {
    resume: () => answer(exchange, sources, true),
    giveUp: () => sendPage(exchange, PAGES.no_ready_replica),
  });
}

/** `run` attributes exceptions in the callbacks of libraries to this exchange. */
function answerFromSite(exchange: Exchange, target: StaticTarget, imagesDir: string): void {
  const { containment } = exchange;
  const serve = () => serveSite(exchange, target, imagesDir);
  void containment.run(serve).catch((error) => containment.caught(error));
}

function answerUnknownHost(exchange: Exchange): void {
  const { req, res, requestId } = exchange;
  const [path] = (req.url ?? '').split('?');
  if (req.method !== 'GET' || path !== HEALTH_PATH) {
    sendPage(exchange, PAGES.unknownHost);
    return;
  }
  // Anyone can request this health check, so the response contains no figures.
  res.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8', 'X-Request-ID': requestId });
  res.end('{"status":"ok"}');
}
