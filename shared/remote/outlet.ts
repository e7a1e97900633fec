import type { WebSocket } from 'ws';
import { bufferOf, MAX_BUFFERED_MESSAGES, MAX_MESSAGE_BYTES } from './model.js';

interface Source {
  pause(): unknown;
  resume(): unknown;
}

const MAX_MERGED_BYTES = MAX_MESSAGE_BYTES / 8;

/** Number of `Outlet` objects with an open connection in this process. They share the process's buffer limit. */
let outlets = 0;

/**
 * Sent bytes after which the process collects garbage. V8 alone would wait for 64 MiB, because it does not count
 * buffers, and the C library would then keep that memory.
 */
const COLLECTED_BYTES = 8 * MAX_MESSAGE_BYTES;
let uncollectedBytes = 0;

/** Does nothing without `--expose-gc`. */
function collect(bytes: number): void {
  uncollectedBytes += bytes;
  if (uncollectedBytes < COLLECTED_BYTES) return;
  uncollectedBytes = 0;
  globalThis.gc?.({ type: 'minor' });
}

/**
 * Sends messages to a WebSocket, and pauses their source while too much is buffered. With `merges`, waiting messages
 * are merged, because sending a small message costs as much as sending many kilobytes.
 */
export class Outlet {
  readonly #peer: WebSocket;
  readonly #source: () => Source;
  readonly #merges: boolean;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #inFlight = 0;
  #paused = false;

  constructor(peer: WebSocket, source: () => Source, { merges }: { merges: boolean }) {
    this.#peer = peer;
    this.#source = source;
    this.#merges = merges;
    if (peer.readyState === peer.CLOSED) return;
    outlets += 1;
    peer.once('close', () => {
      outlets -= 1;
    });
  }

  send(chunk: Buffer, isBinary = true): void {
    if (this.#merges && isBinary) {
      if (this.#waitingBytes + chunk.length > MAX_MERGED_BYTES) this.flush();
      this.#waiting.push(chunk);
      this.#waitingBytes += chunk.length;
      if (this.#inFlight === 0) this.flush();
    } else {
      this.flush();
      this.#write(chunk, isBinary);
    }
    if (this.#paused || this.#load <= 1) return;
    this.#paused = true;
    this.#source().pause();
  }

  /**
   * How full the buffer is; 1 is its limit. Messages count too, because a small one uses far more memory than its
   * bytes.
   */
  get #load(): number {
    const bytes = (this.#peer.bufferedAmount + this.#waitingBytes) / bufferOf(outlets);
    return Math.max(bytes, (this.#inFlight + this.#waiting.length) / MAX_BUFFERED_MESSAGES);
  }

  /** Sends all waiting messages. Must be called before the peer is closed, because waiting messages would be lost. */
  flush(): void {
    const [first, ...others] = this.#waiting;
    if (first === undefined) return;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#write(others.length === 0 ? first : Buffer.concat([first, ...others]), true);
  }

  #write(chunk: Buffer, isBinary: boolean): void {
    this.#inFlight += 1;
    collect(chunk.length);
    this.#peer.send(chunk, { binary: isBinary }, () => this.#sent());
  }

  #sent(): void {
    this.#inFlight -= 1;
    if (this.#inFlight === 0 && this.#peer.readyState === this.#peer.OPEN) this.flush();
    if (!this.#paused || this.#load > 0.5) return;
    this.#paused = false;
    this.#source().resume();
  }
}
