import type { Writable } from 'node:stream';
import { turns } from './source-turns.js';

export interface Source {
  pause(): void;
  resume(): void;
}

/**
 * A source rests after it sends more than `CRUMBS` pieces at once that have fewer than `CRUMB_BYTES` bytes on average.
 */
const CRUMBS = 64;
const CRUMB_BYTES = 16;
/** How long a source of tiny pieces rests for each piece, in milliseconds. */
const REST_MS_PER_CRUMB = 0.5;

/**
 * Writes to a stream whose reader may be slow, in bounded memory. One write is in progress at a time, and the source is
 * paused meanwhile. A Node.js stream limits only the bytes that it buffers: if a source sent single bytes, the buffered
 * pieces would need a hundred times as much memory as their content.
 */
export class PacedWriter {
  readonly #target: Writable;
  readonly #source: Source;
  #pieces: Buffer[] = [];
  #restMs = 0;
  #writing = false;
  #scheduled = false;
  #ended = false;

  constructor(target: Writable, source: Source) {
    this.#target = target;
    this.#source = source;
  }

  write(chunk: Buffer): void {
    this.#pieces.push(chunk);
    if (this.#writing || this.#scheduled) return;
    this.#scheduled = true;
    // Chunks that arrive in the same iteration of the event loop are written together.
    process.nextTick(this.#flush);
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#target.destroyed) return;
    if (this.#pieces.length > 0) this.#target.write(this.#take());
    this.#target.end();
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    if (this.#writing || this.#ended || this.#target.destroyed || this.#pieces.length === 0) return;
    this.#writing = true;
    this.#source.pause();
    const count = this.#pieces.length;
    const taken = this.#take();
    this.#restMs = count > CRUMBS && taken.length < count * CRUMB_BYTES ? count * REST_MS_PER_CRUMB : 0;
    this.#target.write(taken, this.#onWritten);
  };

  readonly #onWritten = (): void => {
    this.#writing = false;
    if (this.#pieces.length > 0) this.#flush();
    else if (this.#restMs > 0) setTimeout(this.#takeTurn, this.#restMs);
    else this.#takeTurn();
  };

  readonly #takeTurn = (): void => {
    if (!this.#ended && !this.#target.destroyed) turns.take(this.#goOn);
  };

  readonly #goOn = (): void => {
    if (!this.#writing && !this.#ended && !this.#target.destroyed) this.#source.resume();
  };

  #take(): Buffer {
    const [first = Buffer.alloc(0), ...others] = this.#pieces;
    const taken = others.length === 0 ? first : Buffer.concat(this.#pieces);
    this.#pieces = [];
    return taken;
  }
}
