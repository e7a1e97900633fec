import type { IncomingMessage } from 'node:http';
import { errorMessage } from '../../../shared/core/errors.js';
import { InvalidAnswerError } from './answer-head.js';
import { attempt, type Outcome } from './attempt.js';
import type { Backlog } from './client-connection.js';
import type { Exchange } from './exchange.js';
import { hasBody } from './headers.js';
import { badRequest, PAGES, type Page, sendPage } from './pages.js';
import { BodyIdleError, RequestBody } from './request-body.js';
import { noticeEnd, tunnel } from './tunnel.js';
import { errors } from './undici.js';
import { choose, type Upstream } from './upstream.js';

/** How often a request that a replica may have seen is sent again. */
const MAX_REPLAYS = 2;
/** The most replicas that are tried if connections are refused. */
const MAX_ATTEMPTS = 10;
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS']);

type Failure = Extract<Outcome, { type: 'failed' }>;

export interface ForwardSource {
  /** The replicas of the host as they are now: a swap may happen between two attempts. */
  upstreams: () => readonly Upstream[];
  /** Loads the route from PostgreSQL again. Never rejects, and resolves within a time limit. */
  refresh: () => Promise<void>;
}

/**
 * Passes a request to a ready replica and always answers the client. If the first replica cannot have seen the request,
 * another one is tried. If it may have seen it, only repeatable requests without a body are sent again.
 */
export async function forward(exchange: Exchange, source: ForwardSource): Promise<void> {
  const { req } = exchange;
  const body = hasBody(req);
  const repeatable = !body && exchange.upgrade === null && REPEATABLE.has(req.method ?? '');
  const failed = new Set<Upstream>();
  const refused = new Set<Upstream>();
  let refreshed = false;
  let replays = 0;
  let last: Failure | null = null;

  if (body) exchange.connection.upload = () => heldBack(req);
  if (exchange.upgrade !== null && !wantsTunnel(exchange)) noticeEnd(exchange.upgrade.socket);
  for (let attempts = 0; attempts < MAX_ATTEMPTS; ) {
    const upstream = choose(source.upstreams(), failed) ?? choose(source.upstreams(), refused);
    if (upstream === null) {
      // Every replica refused: the route may have changed a moment ago.
      if (refreshed || last === null) break;
      refreshed = true;
      await source.refresh();
      continue;
    }
    attempts += 1;
    const stream = body ? new RequestBody(req) : null;
    const outcome = await (wantsTunnel(exchange) ? tunnel(exchange, upstream) : attempt(exchange, upstream, stream));
    if (outcome.type !== 'failed') return;
    last = outcome;
    failed.add(upstream);
    if (!outcome.sent) {
      refused.add(upstream);
      upstream.avoid();
    }
    const again = outcome.sent
      ? repeatable && !isFinal(outcome.error) && ++replays <= MAX_REPLAYS
      : !isInvalid(outcome);
    if (outcome.begun || stream?.touched || !again) break;
  }
  if (last === null) sendPage(exchange, PAGES.no_ready_replica);
  else giveUp(exchange, last);
}

/** The bytes of the body that the client has sent and no replica has read. */
function heldBack({ readableLength: pending, socket }: IncomingMessage): Backlog {
  return { pending, taken: socket.bytesRead - pending };
}

function giveUp(exchange: Exchange, failure: Failure): void {
  const { req, res, host, requestId, log } = exchange;
  log.warn({ host, method: req.method, requestId }, `a request failed: ${errorMessage(failure.error)}`);
  // The client must notice that the answer is not complete.
  if (failure.begun || res.headersSent) res.destroy();
  else sendPage(exchange, pageFor(failure));
}

function pageFor(failure: Failure): Page {
  if (isInvalid(failure)) return badRequest('The request cannot be passed on.');
  if (failure.error instanceof BodyIdleError) return PAGES.requestTimeout;
  return isTimeout(failure.error) ? PAGES.gatewayTimeout : PAGES.badGateway;
}

function isTimeout(error: Error): boolean {
  return error instanceof errors.HeadersTimeoutError || error instanceof errors.ConnectTimeoutError;
}

/** True if another try would end the same: the replica timed out or gave a bad answer. */
function isFinal(error: Error): boolean {
  return isTimeout(error) || error instanceof InvalidAnswerError;
}

/** True if Undici refuses the request itself. No replica can change that. */
function isInvalid(failure: Failure): boolean {
  return !failure.sent && failure.error instanceof errors.InvalidArgumentError;
}

/** True for every protocol except HTTP/2, whose offer a server may ignore (RFC 9110, 7.8). */
function wantsTunnel({ req, upgrade }: Exchange): boolean {
  return upgrade !== null && !/(^|[\s,])h2c/i.test(req.headers.upgrade ?? '');
}
