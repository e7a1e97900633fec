import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { checkedStatus, clientHeaders, InvalidAnswerError, MAX_INTERIM } from './answer-head.js';
import { encoded, joined } from './compression.js';
import type { Exchange } from './exchange.js';
import { valuesOf } from './headers.js';
import { PacedWriter } from './paced-writer.js';
import type { AnswerHead, Asked } from './read-head.js';
import type { ReplicaConnection, ReplicaRequest } from './replica-connection.js';
import type { RequestBody } from './request-body.js';
import { joinSockets, noticeEnd } from './tunnel.js';
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

const ANSWERED: Outcome = { type: 'answered' };
const CLIENT_GONE: Outcome = { type: 'client-gone' };
const NOTHING = Buffer.alloc(0);
/** Up to this size, Node writes a head and its body as one text, without buffers in between. */
const ONE_TEXT_BYTES = 16_384;

/** Sends the request to a replica and streams its answer to the client. The faster side waits for the slower one. */
export class Attempt implements ReplicaRequest {
  readonly asked: Asked;
  readonly head: string;
  readonly body: RequestBody | null;
  readonly #exchange: Exchange;
  readonly #upstream: Upstream;
  readonly #res: ServerResponse;
  readonly #ended: (outcome: Outcome) => void;
  #connection: ReplicaConnection | null = null;
  /** Takes the body, unless all of the answer arrives at once. */
  #writer: PacedWriter | null = null;
  /** A piece that may be the whole body. */
  #held: Buffer | null = null;
  #begun = false;
  /** Without a length the answer may be a stream: its client must learn at once that it is connected. */
  #flushes = false;
  #settled = false;
  #counted = true;
  #interim = 0;

  /** `head` is the request's, `ended` is called once and must not throw. */
  constructor(
    exchange: Exchange,
    upstream: Upstream,
    request: Pick<ReplicaRequest, 'asked' | 'head' | 'body'>,
    ended: (outcome: Outcome) => void,
  ) {
    this.asked = request.asked;
    this.head = request.head;
    this.body = request.body;
    this.#exchange = exchange;
    this.#upstream = upstream;
    this.#res = exchange.res;
    this.#ended = ended;
  }

  start(): void {
    this.#upstream.requests.add();
    this.#exchange.onClientGone = () => this.#clientGone();
    this.#upstream.pool.send(this);
  }

  onSend(connection: ReplicaConnection): void {
    // The client may have left while the connection was opened.
    if (this.#settled) connection.destroy();
    else this.#connection = connection;
  }

  onInterim(): void {
    this.#interim += 1;
    if (this.#interim > MAX_INTERIM) throw new InvalidAnswerError(`more than ${MAX_INTERIM} interim answers`);
  }

  onHead(head: AnswerHead): void {
    const { req, encoders, connection, containment, upgrade } = this.#exchange;
    const status = checkedStatus(head.status);
    const forClient = clientHeaders(head.headers, this.#exchange, status);
    const answer = encoded(req, status, forClient, () => encoders.take(connection.client));
    try {
      this.#res.writeHead(status, answer.headers);
    } catch (error) {
      answer.encoder?.destroy();
      throw error;
    }
    this.#begun = true;
    this.#flushes = head.body === 'chunked' || head.body === 'until-end';
    if (upgrade !== null && this.asked.upgrade) noticeEnd(upgrade.socket);
    if (answer.encoder !== null) this.#writer = this.#writerTo(joined(answer.encoder, this.#res, containment));
    if (isEventStream(head)) {
      this.#exchange.streams = true;
      this.#uncount();
    }
  }

  onData(piece: Buffer): void {
    if (this.#writer === null && this.#held === null) {
      this.#held = piece;
      return;
    }
    this.#keepHeld();
    this.#writer?.write(Buffer.from(piece));
  }

  onRead(): void {
    // Unlike flushHeaders, an empty write sends the bytes of the headers as they came.
    if (this.#flushes && this.#held === null && !this.#res.destroyed) this.#res.write(NOTHING);
    this.#flushes = false;
    this.#keepHeld();
  }

  onEnd(): void {
    const held = this.#held;
    this.#settle(ANSWERED);
    if (this.#res.destroyed) return;
    if (this.#writer !== null) {
      this.#keepHeld();
      this.#writer.end();
    } else if (held === null) this.#res.end();
    else this.#endWith(held);
  }

  /** Answers with a body that is there as a whole. */
  #endWith(body: Buffer): void {
    const res = this.#res;
    const { socket } = res;
    if (body.length > ONE_TEXT_BYTES) res.end(Buffer.from(body));
    else if (this.#flushes || socket === null) res.end(body.toString('latin1'), 'latin1');
    else {
      // Head and body go out in one write. Otherwise, the response adds an empty write for its end.
      socket.cork();
      res.write(body.toString('latin1'), 'latin1');
      socket.uncork();
      res.end();
    }
  }

  onUpgrade(head: AnswerHead, socket: Socket, rest: Buffer): void {
    try {
      joinSockets(this.#exchange, head, socket, rest);
      this.#settle(ANSWERED);
    } catch (error) {
      socket.destroy();
      if (error instanceof InvalidAnswerError) this.onFail(error);
      else this.onFault(error);
    }
  }

  onFail(error: Error): void {
    if (this.#res.destroyed) this.#settle(CLIENT_GONE);
    else this.#settle({ type: 'failed', error, sent: this.#connection !== null, begun: this.#begun });
  }

  onFault(error: unknown): void {
    this.#settle(CLIENT_GONE);
    this.#exchange.containment.caught(error);
  }

  #clientGone(): void {
    const connection = this.#connection;
    this.#settle(CLIENT_GONE);
    if (connection === null) this.#upstream.pool.withdraw(this);
    else connection.destroy();
  }

  /** Copies the piece that was held, because what follows it is not here yet. */
  #keepHeld(): void {
    const held = this.#held;
    if (held === null) return;
    this.#held = null;
    this.#writer ??= this.#writerTo(this.#res);
    this.#writer.write(Buffer.from(held));
  }

  #writerTo(target: Writable): PacedWriter {
    return new PacedWriter(target, {
      pause: () => this.#connection?.pause(),
      resume: () => this.#connection?.resume(),
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
    this.#connection = null;
    this.#exchange.onClientGone = null;
    this.#uncount();
    this.#ended(outcome);
  }
}

function isEventStream({ headers }: AnswerHead): boolean {
  return valuesOf(headers, 'content-type').startsWith('text/event-stream');
}
