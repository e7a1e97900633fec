import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** A client that sends no byte of its body for this time fails its request. */
const IDLE_MS = 60_000;

export class BodyIdleError extends Error {
  constructor() {
    super(`the client sent nothing of its body for ${IDLE_MS / 1000} s`);
    this.name = 'BodyIdleError';
  }
}

/** What happens to a body while it is sent. */
export interface BodySink {
  /** A part was written. False if the replica does not read: then `resume` is called when it does. */
  onWritten(taken: boolean): void;
  onEnd(): void;
  onError(error: Error): void;
}

/**
 * A request's body for one attempt. If the attempt fails, the client's connection survives and can be answered. Nothing is read
 * before the first replica is sent it.
 */
export class RequestBody {
  readonly #source: IncomingMessage;
  readonly #chunked: boolean;
  #target: Socket | null = null;
  #sink: BodySink | null = null;
  #idle: NodeJS.Timeout | null = null;
  #touched = false;

  constructor(source: IncomingMessage) {
    this.#source = source;
    this.#chunked = source.headers['transfer-encoding'] !== undefined;
  }

  /** Once true, the body cannot be sent again. */
  get touched(): boolean {
    return this.#touched;
  }

  /** Sends the body, in chunks if the client did not tell its length. */
  start(target: Socket, sink: BodySink): void {
    this.#target = target;
    this.#sink = sink;
    this.#touched = true;
    this.#source.on('data', this.#onData).on('end', this.#onEnd).on('close', this.#onClose);
    this.resume();
  }

  /** The replica reads again. */
  resume(): void {
    if (this.#sink === null || this.#source.readableEnded) return;
    this.#idle ??= setTimeout(() => this.#sink?.onError(new BodyIdleError()), IDLE_MS);
    this.#sink.onWritten(true);
    this.#source.resume();
  }

  /** Sends nothing more. */
  stop(): void {
    if (this.#sink === null) return;
    this.#sink = null;
    this.#calm();
    this.#source.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onClose);
    this.#source.pause();
  }

  readonly #onData = (chunk: Buffer): void => {
    const target = this.#target;
    if (target === null || this.#sink === null) return;
    const taken = this.#chunked ? writeChunk(target, chunk) : target.write(chunk);
    this.#sink.onWritten(taken);
    if (taken) {
      this.#idle?.refresh();
      return;
    }
    this.#calm();
    this.#source.pause();
  };

  readonly #onEnd = (): void => {
    this.#calm();
    if (this.#chunked) this.#target?.write('0\r\n\r\n', 'latin1');
    this.#sink?.onEnd();
  };

  readonly #onClose = (): void => {
    if (!this.#source.complete) this.#sink?.onError(new Error('the client closed the connection'));
  };

  #calm(): void {
    if (this.#idle) clearTimeout(this.#idle);
    this.#idle = null;
  }
}

function writeChunk(target: Socket, chunk: Buffer): boolean {
  target.cork();
  target.write(`${chunk.length.toString(16)}\r\n`, 'latin1');
  target.write(chunk);
  const taken = target.write('\r\n', 'latin1');
  target.uncork();
  return taken;
}
