import { connect, type Socket } from 'node:net';
import { InvalidAnswerError } from './answer-head.js';
import { AnswerParser, type AnswerSink } from './answer-parser.js';
import { ownSocket } from './containment.js';
import type { AnswerHead, Asked } from './read-head.js';
import type { RequestBody } from './request-body.js';

/** A request on its way to a replica. */
export interface ReplicaRequest extends AnswerSink {
  readonly asked: Asked;
  /** The head as it goes over the connection. */
  readonly head: string;
  readonly body: RequestBody | null;
  /** The request is about to be sent: from now on the replica may act on it. */
  onSend(connection: ReplicaConnection): void;
  /** All that was read at once has been passed on. Pieces that are needed later must be copied now. */
  onRead(): void;
  /** The replica has changed the protocol. `rest` is what it has sent already. The socket is the caller's from now on. */
  onUpgrade(head: AnswerHead, socket: Socket, rest: Buffer): void;
  /** Called at most once, and never after `onEnd` or `onUpgrade`. */
  onFail(error: Error): void;
  /** A callback has thrown something else than `InvalidAnswerError`. The connection has ended. */
  onFault(error: unknown): void;
}

export interface ConnectionTimes {
  connectMs: number;
  headersMs: number;
}

/** Whom a connection reports to. */
export interface ConnectionOwner {
  /** The connection can take another request. */
  free(connection: ReplicaConnection): void;
  gone(connection: ReplicaConnection): void;
}

/** A replica did not take a connection, or did not answer, in time. */
export class ReplicaTimeoutError extends Error {
  constructor(what: string) {
    super(`the replica did not ${what} in time`);
    this.name = 'ReplicaTimeoutError';
  }
}

const CLOSED = 'the replica closed the connection before the end of its answer';
/** After this time without a byte the kernel probes the replica. */
const TCP_KEEP_ALIVE_MS = 60_000;
/** For how long an idle connection is kept if the replica does not say: shorter than servers keep theirs (2 s and more). */
const KEEP_ALIVE_MS = 1_500;
/** The edge closes a connection so much earlier than the replica says that it would, and after a minute in any case. */
const KEEP_ALIVE_MARGIN_MS = 2_000;
const MAX_KEEP_ALIVE_MS = 60_000;
/** All connections read into this buffer, one after the other. What is needed later is copied. */
const READ_BUFFER = Buffer.allocUnsafeSlow(65_536);
/** Shorter than for other answers, because a client that leaves in the meantime is not noticed. */
const UPGRADE_MS = 30_000;

/** A connection to a replica. It carries one request at a time; anything that arrives outside of an answer ends it. */
export class ReplicaConnection {
  readonly #owner: ConnectionOwner;
  readonly #times: ConnectionTimes;
  readonly #socket: Socket;
  #request: ReplicaRequest | null;
  #parser: AnswerParser | null = null;
  #error: Error | null = null;
  #paused = false;
  #sending = false;
  /** When it is ended, in milliseconds of performance.now(), and with which error. */
  #deadline: number;
  #late = 'accept a connection';

  /** Connects, and sends the request as soon as the connection stands. */
  constructor(address: string, port: number, times: ConnectionTimes, owner: ConnectionOwner, request: ReplicaRequest) {
    this.#times = times;
    this.#owner = owner;
    this.#request = request;
    this.#deadline = performance.now() + times.connectMs;
    const { upgrade } = request.asked;
    const options = { host: address, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS };
    const onread = { buffer: READ_BUFFER, callback: (length: number) => this.#onRead(READ_BUFFER.subarray(0, length)) };
    // A socket that may be joined to a client's hands its own buffers out.
    const socket = connect(upgrade ? options : { ...options, onread });
    if (upgrade) socket.on('data', this.#onRead);
    this.#socket = socket;
    ownSocket(socket, (error) => this.#fault(error));
    socket.once('connect', () => this.#guarded(() => this.#begin()));
    socket.on('drain', () => this.#guarded(() => this.#request?.body?.resume()));
    socket.on('error', (error) => (this.#error ??= error));
    socket.on('end', this.#onEnd);
    socket.on('close', this.#onClose);
  }

  /** False once it cannot carry another request. */
  get usable(): boolean {
    return !this.#socket.destroyed && this.#request === null && performance.now() < this.#deadline;
  }

  send(request: ReplicaRequest): void {
    this.#request = request;
    this.#guarded(() => this.#begin());
  }

  pause(): void {
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#socket.resume();
  }

  /** Ends the connection. Its request hears nothing more. */
  destroy(): void {
    this.#release();
    this.#socket.destroy();
  }

  /** Ends the connection, and its request fails with this error. */
  fail(error: Error): void {
    const request = this.#request;
    this.destroy();
    request?.onFail(error);
  }

  /** Ends the connection if it has been waiting for too long. */
  look(now: number): void {
    if (now < this.#deadline) return;
    if (this.#request === null) this.destroy();
    else this.fail(new ReplicaTimeoutError(this.#late));
  }

  #begin(): void {
    const request = this.#request;
    if (request === null) {
      this.destroy();
      return;
    }
    const { asked, body } = request;
    this.#parser = new AnswerParser(asked, request);
    this.#late = 'answer';
    request.onSend(this);
    if (this.#request !== request) return;
    if (body === null) {
      this.#waitForAnswer();
      this.#socket.write(request.head, 'latin1');
      return;
    }
    this.#sending = true;
    this.#deadline = Number.POSITIVE_INFINITY;
    // The body's first bytes are usually there: they go with the head.
    this.#socket.cork();
    this.#socket.write(request.head, 'latin1');
    body.start(this.#socket, {
      // The time runs while the replica does not read. While the client sends nothing, the body has a time limit of its own.
      onWritten: (taken) => {
        if (!taken) this.#waitForAnswer();
        else if (this.#request === request) this.#deadline = Number.POSITIVE_INFINITY;
      },
      onEnd: () => {
        this.#sending = false;
        this.#waitForAnswer();
      },
      onError: (error) => this.fail(error),
    });
    setImmediate(() => this.#socket.uncork());
  }

  #waitForAnswer(): void {
    if (this.#request === null || this.#parser?.head !== null) return;
    const { headersMs } = this.#times;
    this.#deadline = performance.now() + (this.#request.asked.upgrade ? Math.min(UPGRADE_MS, headersMs) : headersMs);
  }

  readonly #onRead = (chunk: Buffer): boolean => {
    const request = this.#request;
    const parser = this.#parser;
    // Nothing was asked: what comes could be taken for the answer to the next request.
    if (request === null || parser === null) this.destroy();
    else this.#guarded(() => this.#pass(request, parser, chunk));
    return true;
  };

  #pass(request: ReplicaRequest, parser: AnswerParser, chunk: Buffer): void {
    const { interim } = parser;
    const used = parser.read(chunk);
    if (this.#request !== request) return;
    const { head } = parser;
    if (head !== null) this.#deadline = Number.POSITIVE_INFINITY;
    else if (parser.interim > interim && !this.#sending) this.#waitForAnswer();
    if (!parser.done) request.onRead();
    else if (head?.status === 101) this.#handOver(request, head, chunk.subarray(used));
    else this.#finish(request, parser, used === chunk.length);
  }

  /** Keeps the connection for the next request, unless the replica closes it, or has sent more than its answer. */
  #finish(request: ReplicaRequest, parser: AnswerParser, isClean: boolean): void {
    const forMs = isClean ? this.#keptFor(request, parser) : 0;
    this.#release();
    if (forMs <= 0) {
      this.#socket.destroy();
      return;
    }
    this.#deadline = performance.now() + forMs;
    this.resume();
    this.#owner.free(this);
  }

  /** For how long the connection may carry further requests, in milliseconds. */
  #keptFor({ asked }: ReplicaRequest, { head }: AnswerParser): number {
    const seconds = head?.keepAliveSeconds ?? 0;
    // Some servers send a body after HEAD, which would be read as the next answer.
    if (this.#sending || seconds === 0 || asked.method === 'HEAD' || asked.upgrade) return 0;
    if (seconds === Number.POSITIVE_INFINITY) return KEEP_ALIVE_MS;
    return Math.min(seconds * 1_000 - KEEP_ALIVE_MARGIN_MS, MAX_KEEP_ALIVE_MS);
  }

  #handOver(request: ReplicaRequest, head: AnswerHead, rest: Buffer): void {
    this.#release();
    this.#owner.gone(this);
    this.#socket.off('data', this.#onRead).off('end', this.#onEnd).off('close', this.#onClose);
    request.onUpgrade(head, this.#socket, rest);
  }

  readonly #onEnd = (): void => {
    this.#guarded(() => {
      if (this.#parser?.finish() === false) this.fail(new Error(CLOSED));
      else this.destroy();
    });
  };

  readonly #onClose = (): void => {
    this.#owner.gone(this);
    this.fail(this.#error ?? new Error(CLOSED));
  };

  /** The request is no longer this connection's. */
  #release(): void {
    this.#request?.body?.stop();
    this.#request = null;
    this.#parser = null;
    this.#sending = false;
  }

  #fault(error: unknown): void {
    const request = this.#request;
    this.destroy();
    request?.onFault(error);
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (error instanceof InvalidAnswerError) this.fail(error);
      else this.#fault(error);
    }
  }
}
