import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { encoded, joined } from './compression.js';
import type { Exchange } from './exchange.js';
import { clientHeaders, upstreamHeaders } from './headers.js';
import type { RequestBody } from './request-body.js';
import type { Upstream } from './upstream.js';

/** How sending a request to one replica ended. */
export type Outcome =
  | { type: 'answered' }
  /** Nobody waits for an answer any more. */
  | { type: 'client-gone' }
  | {
      type: 'failed';
      error: Error;
      /** The request was, or may have been, sent: the replica may have acted on it. */
      sent: boolean;
      /** Part of the answer has gone to the client. */
      begun: boolean;
    };

/** Sends the request to a replica and streams its answer to the client, holding back whichever side is slower. */
export function attempt(exchange: Exchange, upstream: Upstream, body: RequestBody | null): Promise<Outcome> {
  const { req, client, requestId } = exchange;
  return new Promise((resolve) => {
    const relay = new Relay(exchange, upstream, resolve);
    upstream.pool.dispatch(
      {
        path: req.url ?? '/',
        method: req.method ?? 'GET',
        headers: upstreamHeaders(req, client, requestId),
        body,
      },
      relay,
    );
  });
}

const NOTHING = Buffer.alloc(0);

class Relay implements Dispatcher.DispatchHandler {
  readonly #exchange: Exchange;
  readonly #res: ServerResponse;
  /** What takes the body: the response, or what compresses it. */
  #body: Writable;
  readonly #resolve: (outcome: Outcome) => void;
  readonly #leave: () => void;
  #controller: Dispatcher.DispatchController | null = null;
  #begun = false;

  constructor(exchange: Exchange, upstream: Upstream, resolve: (outcome: Outcome) => void) {
    const { res } = exchange;
    this.#exchange = exchange;
    this.#res = res;
    this.#body = res;
    this.#resolve = resolve;
    this.#leave = upstream.requests.enter();
    res.on('close', this.#onClientClose);
  }

  readonly #onClientClose = (): void => {
    this.#controller?.abort(new Error('the client closed the connection'));
    this.#settle({ type: 'client-gone' });
  };

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#res.destroyed) controller.abort(new Error('the client closed the connection'));
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: object, message?: string): void {
    if (status < 200) return;
    const raw = Array.isArray(controller.rawHeaders) ? controller.rawHeaders : [];
    const { req, requestId, compress } = this.#exchange;
    const forClient = clientHeaders(raw, requestId);
    const answer = compress ? encoded(req, status, forClient) : { headers: forClient, encoder: null };
    this.#res.writeHead(status, message, answer.headers);
    if (answer.encoder !== null) this.#body = joined(answer.encoder, this.#res);
    this.#begun = true;
    // A stream's client learns at once that it is connected; other headers wait for the first bytes of the body.
    // Unlike flushHeaders, an empty write sends the bytes of the headers as they came.
    if (!('content-length' in headers)) this.#res.write(NOTHING);
    if ('content-type' in headers && String(headers['content-type']).startsWith('text/event-stream')) this.#leave();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#body.write(chunk)) return;
    controller.pause();
    this.#body.once('drain', () => controller.resume());
  }

  onResponseEnd(): void {
    this.#settle({ type: 'answered' });
    this.#body.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#res.destroyed) this.#settle({ type: 'client-gone' });
    else this.#settle({ type: 'failed', error, sent: this.#controller !== null, begun: this.#begun });
  }

  #settle(outcome: Outcome): void {
    this.#res.off('close', this.#onClientClose);
    this.#leave();
    this.#resolve(outcome);
  }
}
