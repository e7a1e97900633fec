import type { Writable } from 'node:stream';
import { turns } from './source-turns.js';

export interface Source {
  pause(): void;
  resume(): void;
}

/**
 * Limits for a source that sends tiny pieces. It is paused if one iteration of the event loop brought more than
 * `CRUMBS` pieces, with fewer than `CRUMB_BYTES` bytes each on average.
 */
const CRUMBS = 64;
const CRUMB_BYTES = 16;
/**
 * How long a source of tiny pieces is paused for each piece, in milliseconds. Handling a piece takes only about a
 * microsecond, so such a source uses little CPU time.
 */
const REST_MS_PER_CRUMB = 0.5;

/**
 * Writes to a stream whose reader may be slow, in bounded memory: one write is in progress at a time, and the source is
 * paused meanwhile. A Node.js stream limits only the bytes that it buffers. If a source sent single bytes, the buffered
 * pieces would need a hundred times as much memory as their content. The source is paused only between iterations of
 * the event loop, so that pieces that were read together are written together.
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

  /** Always accepts the chunk. Pauses the source if the target falls behind. */
  write(chunk: Buffer): void {
    this.#pieces.push(chunk);
    if (this.#writing || this.#scheduled) return;
    this.#scheduled = true;
    // Chunks that arrive in the same iteration of the event loop are written together.
    process.nextTick(this.#flush);
  }

  /** Writes the remaining chunks and ends the target. */
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
