import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { checkedStatus, clientHeaders, InvalidAnswerError, MAX_INTERIM } from './answer-head.js';
import { encoded, joined } from './compression.js';
import type { Exchange } from './exchange.js';
import { upstreamHeaders } from './headers.js';
import { PacedWriter } from './paced-writer.js';
import type { RequestBody } from './request-body.js';
import type { Upstream } from './upstream.js';

/** How sending a request to one replica ended. */
export type Outcome =
  | { type: 'answered' }
  /** The client has closed the connection. */
  | { type: 'client-gone' }
  | {
      type: 'failed';
      error: Error;
      /** The request was, or may have been, sent: the replica may have acted on it. */
      sent: boolean;
      /** Part of the answer has gone to the client. */
      begun: boolean;
    };

/** Sends the request to a replica and streams its answer to the client. The faster side waits for the slower one. */
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

/** Its callbacks never throw: an exception ends only this attempt. */
class Relay implements Dispatcher.DispatchHandler {
  readonly #exchange: Exchange;
  readonly #res: ServerResponse;
  /** Receives the body: the response, or its encoder. */
  #writer: PacedWriter;
  readonly #resolve: (outcome: Outcome) => void;
  readonly #leave: () => void;
  readonly #forget: () => void;
  #controller: Dispatcher.DispatchController | null = null;
  #begun = false;
  #settled = false;
  #interim = 0;

  constructor(exchange: Exchange, upstream: Upstream, resolve: (outcome: Outcome) => void) {
    const { res } = exchange;
    this.#exchange = exchange;
    this.#res = res;
    this.#writer = this.#writerTo(res);
    this.#resolve = resolve;
    this.#leave = upstream.requests.enter();
    this.#forget = upstream.onFault((error) => this.#fail(error));
    res.on('close', this.#onClientClose);
  }

  readonly #onClientClose = (): void => {
    this.#settle({ type: 'client-gone' });
    this.#abort(new Error('the client closed the connection'));
  };

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#settled || this.#res.destroyed) controller.abort(new Error('the client closed the connection'));
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: object): void {
    this.#guarded(() => {
      if (status >= 100 && status < 200) {
        this.#interim += 1;
        if (this.#interim > MAX_INTERIM) throw new InvalidAnswerError(`more than ${MAX_INTERIM} interim answers`);
        return;
      }
      this.#begin(checkedStatus(status), Array.isArray(controller.rawHeaders) ? controller.rawHeaders : []);
      // Without a length it may be a stream: its client must learn at once that it is connected.
      // Unlike flushHeaders, an empty write sends the bytes of the headers as they came.
      if (!('content-length' in headers)) this.#res.write(NOTHING);
      if ('content-type' in headers && String(headers['content-type']).startsWith('text/event-stream')) {
        this.#exchange.streams = true;
        this.#leave();
      }
    });
  }

  #begin(status: number, raw: (string | Buffer)[]): void {
    const { req, encoders, connection, containment } = this.#exchange;
    const forClient = clientHeaders(raw, this.#exchange, status);
    const take = () => encoders.take(connection.client);
    const answer = encoded(req, status, forClient, take);
    try {
      this.#res.writeHead(status, answer.headers);
    } catch (error) {
      answer.encoder?.destroy();
      throw error;
    }
    this.#begun = true;
    if (answer.encoder !== null) this.#writer = this.#writerTo(joined(answer.encoder, this.#res, containment));
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#guarded(() => this.#writer.write(chunk));
  }

  onResponseEnd(): void {
    this.#guarded(() => {
      this.#settle({ type: 'answered' });
      this.#writer.end();
    });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#res.destroyed) this.#settle({ type: 'client-gone' });
    else this.#settle({ type: 'failed', error, sent: this.#controller !== null, begun: this.#begun });
  }

  #writerTo(target: Writable): PacedWriter {
    return new PacedWriter(target, {
      pause: () => this.#guarded(() => this.#controller?.pause()),
      resume: () => this.#guarded(() => this.#controller?.resume()),
    });
  }

  /** A bad answer is the replica's fault. Every other exception is a fault of the edge and is counted. */
  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (error instanceof InvalidAnswerError) this.#fail(error);
      else this.#exchange.containment.caught(error);
    }
  }

  #fail(error: Error): void {
    this.#settle({ type: 'failed', error, sent: true, begun: this.#begun });
    this.#abort(error);
  }

  #abort(error: Error): void {
    try {
      this.#controller?.abort(error);
    } catch (second) {
      this.#exchange.containment.caught(second, 'a request to a replica could not be ended in order');
    }
  }

  #settle(outcome: Outcome): void {
    this.#settled = true;
    this.#res.off('close', this.#onClientClose);
    this.#leave();
    this.#forget();
    this.#resolve(outcome);
  }
}
