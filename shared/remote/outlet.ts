import type { WebSocket } from 'ws';
import { MAX_BUFFERED_BYTES } from './model.js';

/** Something that can be read more slowly. */
interface Source {
  pause(): unknown;
  resume(): unknown;
}

/** Sends messages to a WebSocket, and pauses their source while it takes none. */
export class Outlet {
  readonly #peer: WebSocket;
  readonly #source: () => Source;
  #paused = false;

  constructor(peer: WebSocket, source: () => Source) {
    this.#peer = peer;
    this.#source = source;
  }

  send(chunk: Buffer, isBinary = true): void {
    this.#peer.send(chunk, { binary: isBinary }, () => this.#sent());
    if (this.#paused || this.#peer.bufferedAmount <= MAX_BUFFERED_BYTES) return;
    this.#paused = true;
    this.#source().pause();
  }

  #sent(): void {
    if (!this.#paused || this.#peer.bufferedAmount > MAX_BUFFERED_BYTES / 2) return;
    this.#paused = false;
    this.#source().resume();
  }
}
