import type { IncomingMessage } from 'node:http';
import { errorMessage } from '../../../shared/core/errors.js';
import { InvalidAnswerError } from './answer-head.js';
import { Attempt, type Outcome } from './attempt.js';
import type { Backlog } from './client-connection.js';
import type { Exchange } from './exchange.js';
import { hasBody, upstreamHeaders } from './headers.js';
import { PAGES, type Page, sendPage } from './pages.js';
import type { Asked } from './read-head.js';
import { ReplicaTimeoutError } from './replica-connection.js';
import { BodyIdleError, RequestBody } from './request-body.js';
import { noticeEnd } from './tunnel.js';
import { choose, type Upstream } from './upstream.js';

/** How often a request that a replica may have seen is sent again. */
const MAX_REPLAYS = 2;
/** The most replicas that are tried if connections are refused. */
const MAX_ATTEMPTS = 10;
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Some servers refuse these without a length (RFC 9110, 8.6). */
const WITH_BODY = new Set(['POST', 'PUT', 'PATCH']);
/** Node's parser refuses most of these before. Here they cannot become part of another line. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
const FORBIDDEN_IN_PATH = /[\x00-\x20\x7f]|[^\x00-\xff]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
const FORBIDDEN_IN_VALUE = /[\x00-\x08\x0a-\x1f\x7f]|[^\x00-\xff]/;

/** The request has characters that cannot be passed on. */
export class InvalidRequestError extends Error {
  constructor(where: string) {
    super(`${where} cannot be passed on`);
    this.name = 'InvalidRequestError';
  }
}

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
export function forward(exchange: Exchange, source: ForwardSource): void {
  new Forwarding(exchange, source).next();
}

class Forwarding {
  readonly #exchange: Exchange;
  readonly #source: ForwardSource;
  readonly #asked: Asked;
  readonly #head: string;
  readonly #hasBody: boolean;
  #body: RequestBody | null = null;
  #upstream: Upstream | null = null;
  readonly #failed: Upstream[] = [];
  /** Those that cannot have seen the request. */
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
    this.#asked = { method: req.method ?? 'GET', upgrade: wantsTunnel(exchange) };
    this.#head = requestHead(exchange, this.#asked);
    if (this.#hasBody) connection.upload = () => heldBack(req);
    if (upgrade !== null && !this.#asked.upgrade) noticeEnd(upgrade.socket);
  }

  /** Tries the next replica. */
  next(): void {
    const upstream = this.#attempts < MAX_ATTEMPTS ? this.#choose() : null;
    if (upstream === null) {
      this.#giveUp();
      return;
    }
    this.#attempts += 1;
    this.#upstream = upstream;
    this.#body = this.#hasBody ? new RequestBody(this.#exchange.req) : null;
    const request = { asked: this.#asked, head: this.#head, body: this.#body };
    new Attempt(this.#exchange, upstream, request, this.#ended).start();
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
    const { upgrade, req } = this.#exchange;
    const upstream = this.#upstream;
    this.#last = failure;
    if (upstream !== null) {
      this.#failed.push(upstream);
      if (!failure.sent) {
        this.#refused.push(upstream);
        upstream.avoid();
      }
    }
    const repeatable = !this.#hasBody && upgrade === null && REPEATABLE.has(req.method ?? '');
    if (failure.sent) this.#replays += 1;
    const again = !failure.sent || (repeatable && !isFinal(failure.error) && this.#replays <= MAX_REPLAYS);
    if (failure.begun || this.#body?.touched || !again) answerFailure(this.#exchange, failure);
    else this.next();
  }

  /** No replica is left. If every one refused, the route may have changed a moment ago. */
  #giveUp(): void {
    const last = this.#last;
    if (last === null) sendPage(this.#exchange, PAGES.no_ready_replica);
    else if (this.#refreshed || this.#attempts >= MAX_ATTEMPTS) answerFailure(this.#exchange, last);
    else {
      this.#refreshed = true;
      const { containment } = this.#exchange;
      void this.#source.refresh().then(containment.guard(() => this.next()));
    }
  }
}

/** Throws `InvalidRequestError` if the request cannot be passed on. */
function requestHead({ req, client, requestId }: Exchange, { method, upgrade }: Asked): string {
  const path = req.url ?? '/';
  if (FORBIDDEN_IN_PATH.test(path)) throw new InvalidRequestError('its path');
  let head = `${method} ${path} HTTP/1.1\r\n`;
  const headers = upstreamHeaders(req, client, requestId);
  for (let i = 0; i < headers.length; i += 2) {
    const value = headers[i + 1] ?? '';
    if (FORBIDDEN_IN_VALUE.test(value)) throw new InvalidRequestError('a header');
    head += `${headers[i]}: ${value}\r\n`;
  }
  if (req.headers['transfer-encoding'] !== undefined) head += 'Transfer-Encoding: chunked\r\n';
  else if (WITH_BODY.has(method) && req.headers['content-length'] === undefined) head += 'Content-Length: 0\r\n';
  if (upgrade) return `${head}Connection: Upgrade\r\nUpgrade: ${req.headers.upgrade ?? 'websocket'}\r\n\r\n`;
  // The connection is not used again after HEAD, see replica-connection.ts.
  return method === 'HEAD' ? `${head}Connection: close\r\n\r\n` : `${head}Connection: keep-alive\r\n\r\n`;
}

/** The bytes of the body that the client has sent and no replica has read. */
function heldBack({ readableLength: pending, socket }: IncomingMessage): Backlog {
  return { pending, taken: socket.bytesRead - pending };
}

function answerFailure(exchange: Exchange, failure: Failure): void {
  const { req, res, host, requestId, log } = exchange;
  log.warn({ host, method: req.method, requestId }, `a request failed: ${errorMessage(failure.error)}`);
  // The client must notice that the answer is not complete.
  if (failure.begun || res.headersSent) res.destroy();
  else sendPage(exchange, pageFor(failure));
}

function pageFor(failure: Failure): Page {
  if (failure.error instanceof BodyIdleError) return PAGES.requestTimeout;
  return isTimeout(failure.error) ? PAGES.gatewayTimeout : PAGES.badGateway;
}

function isTimeout(error: Error): boolean {
  return error instanceof ReplicaTimeoutError;
}

/** True if another try would end the same: the replica timed out or gave a bad answer. */
function isFinal(error: Error): boolean {
  return isTimeout(error) || error instanceof InvalidAnswerError;
}

/** True for every protocol except HTTP/2, whose offer a server may ignore (RFC 9110, 7.8). */
function wantsTunnel({ req, upgrade }: Exchange): boolean {
  return upgrade !== null && !/(^|[\s,])h2c/i.test(req.headers.upgrade ?? '');
}
