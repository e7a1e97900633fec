import { badRequest, PAGES, sendMaintenance, sendPage } from './error-pages.js';
import type { Exchange } from './exchange.js';
import { type HeldRequests, holds } from './held-requests.js';
import type { LiveTable } from './live-table.js';
import { ambiguity, hasBody } from './proxy-headers.js';
import { forward } from './replicas/forward-request.js';
import { type StaticTarget, serveSite } from './sites/static-site.js';
import { isAllowed } from './visitors/allow-list.js';

export const HEALTH_PATH = '/.ranvier/healthz';

/** The sources from which requests are answered. */
export interface AnswerSources {
  table: LiveTable;
  /** The folder of the images: `<imagesDir>/<digest>`. */
  imagesDir: string;
  /** Loads a service's route again. Never rejects, and resolves within a time limit. */
  refresh: (serviceId: string) => Promise<void>;
  /** Requests that wait for a replica. */
  held: HeldRequests;
}

/** Answers a request according to the route of its host. */
export function answer(exchange: Exchange, sources: AnswerSources): void {
  const { table, imagesDir, refresh } = sources;
  const { req, upgrade } = exchange;
  const problem = ambiguity(req) ?? (upgrade && hasBody(req) ? 'An upgrade request must not have a body.' : null);
  const live = problem === null ? table.find(exchange.host) : undefined;
  if (problem !== null) {
    // Closes the connection: its next bytes could be this request's body or the next request (RFC 9112, 6.3).
    exchange.res.shouldKeepAlive = false;
    sendPage(exchange, badRequest(problem));
  } else if (live === undefined) answerUnknownHost(exchange);
  else {
    const { maintenance, serviceId, target } = live.route;
    exchange.traffic = live.traffic;
    if (!isAllowed(live.allow, exchange.client.address)) sendPage(exchange, PAGES.notAllowed);
    else if (maintenance !== null) sendMaintenance(exchange, maintenance);
    else if (target.type === 'unavailable') {
      if (!holdRequest(exchange, sources)) sendPage(exchange, PAGES[target.reason]);
    } else if (target.type === 'static') answerFromSite(exchange, target, imagesDir);
    else {
      const upstreams = () => table.find(exchange.host)?.upstreams ?? [];
      forward(exchange, {
        upstreams,
        refresh: () => refresh(serviceId),
        hold: () => holdRequest(exchange, sources),
      });
    }
  }
}

/** Lets the request wait for a replica of its service. Returns false if it has to be answered now. */
function holdRequest(exchange: Exchange, sources: AnswerSources): boolean {
  const { table, held } = sources;
  const route = table.find(exchange.host)?.route;
  if (route === undefined || !holds(route)) return false;
  return held.hold(exchange, route, {
    resume: () => answer(exchange, sources),
    giveUp: () => sendPage(exchange, PAGES.no_ready_replica),
  });
}

/**
 * Answers from a site's files. They are read by libraries with their own callbacks, so the work runs in a context of
 * the exchange.
 */
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
  // Anyone can request this health check, so the answer has no figures. Operators find them in PostgreSQL (`figures`).
  res.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8', 'X-Request-ID': requestId });
  res.end('{"status":"ok"}');
}
