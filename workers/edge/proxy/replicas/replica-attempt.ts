import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex, Writable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { changedHeaders } from '../../rules/header-changes.js';
import { ownSocket } from '../containment.js';
import type { Exchange } from '../exchange.js';
import { valuesOf } from '../proxy-headers.js';
import { encoded, joined } from '../sites/compression.js';
import { PacedWriter } from '../visitors/paced-writer.js';
import { checkedStatus, clientHeaders, InvalidAnswerError, MAX_INTERIM, rawHeadersOf } from './answer-head.js';
import { joinSockets, noticeEnd } from './join-sockets.js';
import type { ReplicaRequest } from './replica-connections.js';
import type { Upstream } from './upstream.js';

export type Outcome =
  | { type: 'answered' }
  | { type: 'client-gone' }
  | {
      type: 'failed';
      error: Error;
      /** True if the replica may have acted on the request. */
      sent: boolean;
      /** True if part of the response has been sent to the client. */
      begun: boolean;
    };

const ANSWERED: Outcome = { type: 'answered' };
const CLIENT_GONE: Outcome = { type: 'client-gone' };
const NOTHING = Buffer.alloc(0);

/** Sends the request to a replica and streams its response to the client, at the pace of the slower side. */
export class Attempt implements Dispatcher.DispatchHandler {
  readonly #request: ReplicaRequest;
  readonly #exchange: Exchange;
  readonly #upstream: Upstream;
  readonly #res: ServerResponse;
  readonly #ended: (outcome: Outcome) => void;
  /** Null until undici sends the request. */
  #controller: Dispatcher.DispatchController | null = null;
  /** Null if the whole body arrives in one piece. */
  #writer: PacedWriter | null = null;
  #begun = false;
  /** The declared length of the response; null for a stream, whose head is sent at once. */
  #length: number | null = null;
  #settled = false;
  #counted = true;
  #interim = 0;

  /** `ended` is called once, and must not throw. */
  constructor(exchange: Exchange, upstream: Upstream, request: ReplicaRequest, ended: (outcome: Outcome) => void) {
    this.#request = request;
    this.#exchange = exchange;
    this.#upstream = upstream;
    this.#res = exchange.res;
    this.#ended = ended;
  }

  start(): void {
    this.#upstream.requests.add();
    this.#exchange.onClientGone = () => this.#clientGone();
    this.#upstream.pool.send(this.#request, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // The client may have disconnected while the connection was being opened.
    if (this.#settled) controller.abort(new Error('the client has closed the connection'));
    else this.#controller = controller;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    this.#guarded(controller, () => this.#begin(status, rawHeadersOf(controller)));
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    this.#guarded(controller, () => this.#pass(piece));
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    this.#guarded(controller, () => this.#end());
  }

  onRequestUpgrade(
    controller: Dispatcher.DispatchController,
    _status: number,
    _headers: unknown,
    socket: Duplex,
  ): void {
    this.#guarded(controller, () => {
      if (!(socket instanceof Socket)) throw new Error('undici handed over no socket');
      ownSocket(socket, () => socket.destroy());
      joinSockets(this.#exchange, rawHeadersOf(controller), socket);
      this.#settle(ANSWERED);
    });
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.#res.destroyed) this.#settle(CLIENT_GONE);
    else this.#settle({ type: 'failed', error, sent: this.#controller !== null, begun: this.#begun });
  }

  /**
   * Runs the work of an undici callback. Rethrows an `InvalidAnswerError`, so that undici closes the connection and
   * calls `onResponseError`.
   */
  #guarded(controller: Dispatcher.DispatchController, work: () => void): void {
    if (this.#settled) return;
    try {
      work();
    } catch (error) {
      if (error instanceof InvalidAnswerError) throw error;
      this.#settle(CLIENT_GONE);
      controller.abort(new Error('the edge failed on the request'));
      this.#exchange.containment.caught(error);
    }
  }

  #begin(statusCode: number, raw: string[]): void {
    if (statusCode < 200) {
      this.#interim += 1;
      if (this.#interim > MAX_INTERIM) throw new InvalidAnswerError(`more than ${MAX_INTERIM} interim answers`);
      return;
    }
    const { req, encoders, connection, containment, upgrade, headerChanges } = this.#exchange;
    const status = checkedStatus(statusCode);
    const headers = changedHeaders(clientHeaders(raw, this.#exchange, status), headerChanges);
    const answer = encoded(req, status, headers, () => encoders.take(connection.client));
    try {
      this.#res.writeHead(status, answer.headers);
    } catch (error) {
      answer.encoder?.destroy();
      throw error;
    }
    this.#begun = true;
    const length = valuesOf(raw, 'content-length');
    this.#length = length === '' ? null : Number(length);
    // The head of a stream is sent at once, together with the bytes that arrived with it.
    if (this.#length === null) process.nextTick(this.#flushHead);
    if (upgrade !== null && this.#request.upgrade !== null) noticeEnd(upgrade.socket);
    if (answer.encoder !== null) this.#writer = this.#writerTo(joined(answer.encoder, this.#res, containment));
    if (valuesOf(raw, 'content-type').startsWith('text/event-stream')) {
      this.#exchange.streams = true;
      this.#uncount();
    }
  }

  #pass(piece: Buffer): void {
    if (this.#writer === null && piece.length === this.#length) this.#endWith(piece);
    else {
      this.#writer ??= this.#writerTo(this.#res);
      this.#writer.write(piece);
    }
  }

  #end(): void {
    this.#settle(ANSWERED);
    if (this.#res.destroyed || this.#res.writableEnded) return;
    if (this.#writer === null) this.#res.end();
    else this.#writer.end();
  }

  readonly #flushHead = (): void => {
    // `flushHeaders` would encode the headers as UTF-8 and change bytes above 127.
    if (this.#writer === null && !this.#res.destroyed && !this.#res.writableEnded) this.#res.write(NOTHING);
  };

  /** Head and body are sent in one write. */
  #endWith(body: Buffer): void {
    const { socket } = this.#res;
    socket?.cork();
    this.#res.end(body);
    socket?.uncork();
  }

  #clientGone(): void {
    const controller = this.#controller;
    this.#settle(CLIENT_GONE);
    controller?.abort(new Error('the client has closed the connection'));
  }

  #writerTo(target: Writable): PacedWriter {
    return new PacedWriter(target, {
      pause: () => this.#controller?.pause(),
      resume: () => this.#controller?.resume(),
    });
  }

  #uncount(): void {
    if (!this.#counted) return;
    this.#counted = false;
    this.#upstream.requests.remove();
  }

  #settle(outcome: Outcome): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#controller = null;
    this.#exchange.onClientGone = null;
    this.#uncount();
    this.#ended(outcome);
  }
}
