import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

/** A request fails if its client sends no byte of the body for this time. */
const IDLE_MS = 60_000;

export class BodyIdleError extends Error {
  constructor() {
    super(`the client sent nothing of its body for ${IDLE_MS / 1000} s`);
    this.name = 'BodyIdleError';
  }
}

/**
 * The body of a request that is sent to a replica. If sending fails, the client's connection can still get a response.
 */
export class RequestBody extends Readable {
  readonly #source: IncomingMessage;
  #idle: NodeJS.Timeout | null = null;
  #touched = false;

  constructor(source: IncomingMessage) {
    super();
    this.#source = source;
    // An error without a listener would crash the process, and undici may have stopped listening.
    this.on('error', () => undefined);
  }

  /** Once reading has started, the body cannot be sent to another replica. */
  get touched(): boolean {
    return this.#touched;
  }

  override _read(): void {
    if (!this.#touched) {
      this.#touched = true;
      this.#source.on('data', this.#onData).on('end', this.#onEnd).on('close', this.#onClose);
    }
    this.#idle ??= setTimeout(() => this.destroy(new BodyIdleError()), IDLE_MS);
    this.#source.resume();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#calm();
    // `drainRest` discards what the client still sends.
    this.#source.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onClose);
    callback(error);
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.push(chunk)) {
      this.#idle?.refresh();
      return;
    }
    // The timeout only runs while the replica is ready to read and the client sends nothing.
    this.#calm();
    this.#source.pause();
  };

  readonly #onEnd = (): void => {
    this.#calm();
    this.push(null);
  };

  readonly #onClose = (): void => {
    if (!this.#source.complete) this.destroy(new Error('the client closed the connection'));
  };

  #calm(): void {
    if (this.#idle) clearTimeout(this.#idle);
    this.#idle = null;
  }
}
