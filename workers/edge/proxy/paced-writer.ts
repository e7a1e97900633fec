import type { Writable } from 'node:stream';
import { turns } from './turns.js';

/** What can be held back. */
export interface Source {
  pause(): void;
  resume(): void;
}

/** A source of so many pieces in one turn of the event loop, and so small on average, rests after it. */
const CRUMBS = 64;
const CRUMB_BYTES = 16;
/** For each of them; it costs about a microsecond that others wait for. */
const REST_MS_PER_CRUMB = 0.5;

/**
 * Writes to a stream whose reader may be slow, in bounded memory: one write is under way at a time, and the source is held back
 * meanwhile. Streams themselves count bytes alone: a source of single bytes would fill them with a hundred times as much
 * memory as content. The source is held back only between turns of the event loop: undici keeps what is left of a read when it
 * is held back in the middle, and reads on nevertheless each time it goes on, so that its buffer would grow without bound.
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

  /** Takes the chunk in any case, and holds the source back if need be. */
  write(chunk: Buffer): void {
    this.#pieces.push(chunk);
    if (this.#writing || this.#scheduled) return;
    this.#scheduled = true;
    // What arrives in the same turn goes out as one write.
    process.nextTick(this.#flush);
  }

  /** Writes what is left and ends the target. */
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
