import type { IncomingMessage } from 'node:http';
import { errors } from 'undici';
import { errorMessage } from '../../../../shared/core/error-registry.js';
import { badRequest, PAGES, type Page, sendPage } from '../error-pages.js';
import type { Exchange } from '../exchange.js';
import { hasBody, upstreamHeaders } from '../proxy-headers.js';
import type { Backlog } from '../visitors/client-connection.js';
import { BodyIdleError, RequestBody } from '../visitors/request-body.js';
import { InvalidAnswerError } from './answer-head.js';
import { noticeEnd } from './join-sockets.js';
import { Attempt, type Outcome } from './replica-attempt.js';
import type { ReplicaRequest } from './replica-connections.js';
import { choose, type Upstream } from './upstream.js';

/** How often a request that a replica may already have received is repeated. */
const MAX_REPLAYS = 2;
const MAX_ATTEMPTS = 10;
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS']);
type Failure = Extract<Outcome, { type: 'failed' }>;

export interface ForwardSource {
  /** Called for each attempt, because the table may change in between. */
  upstreams: () => readonly Upstream[];
  /** Reloads the route from PostgreSQL. Never rejects, and resolves within a time limit. */
  refresh: () => Promise<void>;
  /** Holds the request until there is a replica. Returns false if it must be answered now. */
  hold: () => boolean;
}

/**
 * Forwards a request to a ready replica. The client always gets a response. If a replica cannot have received the
 * request, tries another one. If it may have, only a GET, HEAD or OPTIONS request without a body is repeated.
 */
export function forward(exchange: Exchange, source: ForwardSource): void {
  new Forwarding(exchange, source).next();
}

class Forwarding {
  readonly #exchange: Exchange;
  readonly #source: ForwardSource;
  readonly #request: Omit<ReplicaRequest, 'body'>;
  readonly #hasBody: boolean;
  #body: RequestBody | null = null;
  #upstream: Upstream | null = null;
  readonly #failed: Upstream[] = [];
  /** Replicas to which the request could not be sent. They may be tried again when no other is left. */
  readonly #refused: Upstream[] = [];
  #refreshed = false;
  #attempts = 0;
  #replays = 0;
  #last: Failure | null = null;

  constructor(exchange: Exchange, source: ForwardSource) {
    const { req, upgrade, connection } = exchange;
    this.#exchange = exchange;
    this.#source = source;
    this.#hasBody = hasBody(req);
    this.#request = {
      method: req.method ?? 'GET',
      path: req.url ?? '/',
      headers: upstreamHeaders(req, exchange.client, exchange.requestId),
      upgrade: wantedProtocol(exchange),
    };
    if (this.#hasBody) connection.upload = () => heldBack(req);
    if (upgrade !== null && this.#request.upgrade === null) noticeEnd(upgrade.socket);
  }

  next(): void {
    const upstream = this.#attempts < MAX_ATTEMPTS ? this.#choose() : null;
    if (upstream === null) {
      this.#giveUp();
      return;
    }
    this.#attempts += 1;
    this.#upstream = upstream;
    this.#body = this.#hasBody ? new RequestBody(this.#exchange.req) : null;
    new Attempt(this.#exchange, upstream, { ...this.#request, body: this.#body }, this.#ended).start();
  }

  #choose(): Upstream | null {
    const upstreams = this.#source.upstreams();
    return choose(upstreams, this.#failed) ?? choose(upstreams, this.#refused);
  }

  readonly #ended = (outcome: Outcome): void => {
    if (outcome.type !== 'failed') return;
    try {
      this.#failedWith(outcome);
    } catch (error) {
      this.#exchange.containment.caught(error);
    }
  };

  #failedWith(failure: Failure): void {
    const { req } = this.#exchange;
    const upstream = this.#upstream;
    this.#last = failure;
    if (failure.error instanceof errors.InvalidArgumentError) {
      // undici refuses a header with characters that could start another header line.
      sendPage(this.#exchange, badRequest('The request cannot be passed on.'));
      return;
    }
    if (upstream !== null) {
      this.#failed.push(upstream);
      if (!failure.sent) {
        this.#refused.push(upstream);
        upstream.avoid();
      }
    }
    const repeatable = !this.#hasBody && REPEATABLE.has(req.method ?? '');
    if (failure.sent) this.#replays += 1;
    const again = !failure.sent || (repeatable && !isFinal(failure.error) && this.#replays <= MAX_REPLAYS);
    if (failure.begun || this.#body?.touched || !again) answerFailure(this.#exchange, failure);
    else this.next();
  }

  /** The route may just have changed, so it is reloaded once. */
  #giveUp(): void {
    const last = this.#last;
    if (last !== null && !this.#refreshed && this.#attempts < MAX_ATTEMPTS) {
      this.#refreshed = true;
      const { containment } = this.#exchange;
      void this.#source.refresh().then(containment.guard(() => this.next()));
      return;
    }
    // A request that may have crashed a replica must not be held for the next replica and crash that one too.
    if (this.#replays === 0 && this.#source.hold()) return;
    if (last === null) sendPage(this.#exchange, PAGES.no_ready_replica);
    else answerFailure(this.#exchange, last);
  }
}

function heldBack({ readableLength: pending, socket }: IncomingMessage): Backlog {
  return { pending, taken: socket.bytesRead - pending };
}

function answerFailure(exchange: Exchange, failure: Failure): void {
  const { req, res, host, requestId, log } = exchange;
  log.warn({ host, method: req.method, requestId }, `a request failed: ${errorMessage(failure.error)}`);
  if (failure.begun && exchange.canary !== null) exchange.canary.brokeOff = true;
  // The client must notice that the response is incomplete.
  if (failure.begun || res.headersSent) res.destroy();
  else sendPage(exchange, pageFor(failure));
}

function pageFor(failure: Failure): Page {
  if (failure.error instanceof BodyIdleError) return PAGES.requestTimeout;
  return isTimeout(failure.error) ? PAGES.gatewayTimeout : PAGES.badGateway;
}

function isTimeout(error: Error): boolean {
  return error instanceof errors.HeadersTimeoutError || error instanceof errors.ConnectTimeoutError;
}

/** Another try would fail the same way: the replica timed out or sent a bad response. */
function isFinal(error: Error): boolean {
  return (
    isTimeout(error) ||
    error instanceof InvalidAnswerError ||
    error instanceof errors.HTTPParserError ||
    error instanceof errors.HeadersOverflowError
  );
}

/** A request to upgrade to HTTP/2 (h2c) is ignored, as RFC 9110, 7.8 allows. */
function wantedProtocol({ req, upgrade }: Exchange): string | null {
  const wanted = req.headers.upgrade ?? 'websocket';
  return upgrade === null || /(^|[\s,])h2c/i.test(wanted) ? null : wanted;
}
