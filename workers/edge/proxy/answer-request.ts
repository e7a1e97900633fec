import { badRequest, PAGES, sendMaintenance, sendPage } from './error-pages.js';
import type { Exchange } from './exchange.js';
import type { LiveTable } from './live-table.js';
import { ambiguity, hasBody } from './proxy-headers.js';
import { forward } from './replicas/forward-request.js';
import { type StaticTarget, serveSite } from './sites/static-site.js';
import { isAllowed } from './visitors/allow-list.js';

export const HEALTH_PATH = '/.ranvier/healthz';

/** Where answers come from. */
export interface AnswerSources {
  table: LiveTable;
  /** The folder of the images: `<imagesDir>/<digest>`. */
  imagesDir: string;
  /** Loads a service's route again. Never rejects, and resolves within a time limit. */
  refresh: (serviceId: string) => Promise<void>;
}

/** Answers a request according to the route of its host. */
export function answer(exchange: Exchange, { table, imagesDir, refresh }: AnswerSources): void {
  const { req, upgrade } = exchange;
  const problem = ambiguity(req) ?? (upgrade && hasBody(req) ? 'An upgrade request must not have a body.' : null);
  const live = problem === null ? table.find(exchange.host) : undefined;
  if (problem !== null) {
    // The next bytes on the connection could be this request's body or the next request (RFC 9112, 6.3).
    exchange.res.shouldKeepAlive = false;
    sendPage(exchange, badRequest(problem));
  } else if (live === undefined) answerUnknownHost(exchange);
  else {
    const { maintenance, serviceId, target } = live.route;
    exchange.traffic = live.traffic;
    if (!isAllowed(live.allow, exchange.client.address)) sendPage(exchange, PAGES.notAllowed);
    else if (maintenance !== null) sendMaintenance(exchange, maintenance);
    else if (target.type === 'unavailable') sendPage(exchange, PAGES[target.reason]);
    else if (target.type === 'static') answerFromSite(exchange, target, imagesDir);
    else {
      const upstreams = () => table.find(exchange.host)?.upstreams ?? [];
      forward(exchange, { upstreams, refresh: () => refresh(serviceId) });
    }
  }
}

/** Answers from a site's files. Libraries with their own callbacks read them. */
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
  // Anyone can ask this, so the answer has no figures. Operators find them in PostgreSQL (`figures`).
  res.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8', 'X-Request-ID': requestId });
  res.end('{"status":"ok"}');
}
