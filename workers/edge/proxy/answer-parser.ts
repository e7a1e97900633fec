import { InvalidAnswerError } from './answer-head.js';
import { type AnswerHead, type Asked, readHead } from './read-head.js';

export const MAX_HEADER_BYTES = 32_768;
/** The most bytes of chunk extensions between two pieces of a body. */
const MAX_EXTENSION_BYTES = 4_096;
/** More digits could exceed what a number holds exactly. */
const MAX_SIZE_DIGITS = 12;
/** Chunks up to this size are joined with the piece before them, if they were read together. */
const JOIN_BYTES = 4_096;
const END_OF_HEAD = Buffer.from('\r\n\r\n');
const END_OF_LINE = Buffer.from('\r\n');
const CR = 13;
const LF = 10;
const SEMICOLON = 59;
const NOTHING = Buffer.alloc(0);

/** Receives an answer, except one that changes the protocol (101). Pieces of the body hold only until `read` returns. */
export interface AnswerSink {
  onInterim(status: number): void;
  onHead(head: AnswerHead): void;
  onData(piece: Buffer): void;
  /** The answer is complete. */
  onEnd(): void;
}

type State =
  | 'head'
  | 'fixed'
  | 'until-end'
  | 'size'
  | 'extension'
  | 'size-end'
  | 'chunk'
  | 'after-chunk'
  | 'chunk-end'
  | 'trailers'
  | 'done';

/**
 * Reads one HTTP/1.1 answer as its bytes arrive. It accepts only what RFC 9112 lets a sender generate: lines end with CRLF, lengths
 * are plain digits, and an answer has one way to tell its length. Whatever else arrives throws `InvalidAnswerError`; the
 * connection must then be destroyed.
 */
export class AnswerParser {
  readonly #asked: Asked;
  readonly #sink: AnswerSink;
  #state: State = 'head';
  /** The part of a head or of trailers that has arrived. */
  #partial: Buffer = NOTHING;
  /** Bytes that are left of the body or of the chunk. */
  #left = 0;
  #digits = 0;
  #extension = 0;
  #head: AnswerHead | null = null;
  #interim = 0;

  constructor(asked: Asked, sink: AnswerSink) {
    this.#asked = asked;
    this.#sink = sink;
  }

  /** How many interim answers have arrived. */
  get interim(): number {
    return this.#interim;
  }

  /** The head of the final answer, or of a 101, once it has arrived. */
  get head(): AnswerHead | null {
    return this.#head;
  }

  get done(): boolean {
    return this.#state === 'done';
  }

  /** Reads a chunk and returns how many of its bytes belong to the answer. The chunk's content may be moved within it. */
  read(chunk: Buffer): number {
    let at = 0;
    while (at < chunk.length && this.#state !== 'done') at = this.#step(chunk, at);
    return at;
  }

  /** The connection has ended. Returns false if the answer is not complete. */
  finish(): boolean {
    if (this.#state === 'until-end') this.#end();
    return this.#state === 'done';
  }

  #step(chunk: Buffer, at: number): number {
    switch (this.#state) {
      case 'head':
        return this.#readHead(chunk, at);
      case 'fixed':
        return this.#readFixed(chunk, at);
      case 'until-end':
        this.#sink.onData(at === 0 ? chunk : chunk.subarray(at));
        return chunk.length;
      case 'trailers':
        return this.#readTrailers(chunk, at);
      default:
        return this.#readChunks(chunk, at);
    }
  }

  #readHead(chunk: Buffer, at: number): number {
    const text = this.#upTo(END_OF_HEAD, chunk, at);
    if (text === null) return chunk.length;
    const head = readHead(text.content, this.#asked);
    const { status, body } = head;
    if (status < 200 && status !== 101) {
      this.#interim += 1;
      this.#sink.onInterim(status);
      return text.next;
    }
    this.#head = head;
    if (status === 101) {
      this.#state = 'done';
      return text.next;
    }
    this.#sink.onHead(head);
    if (body === 'none' || body === 0) this.#end();
    else if (body === 'chunked') this.#state = 'size';
    else if (body === 'until-end') this.#state = 'until-end';
    else {
      this.#left = body;
      this.#state = 'fixed';
    }
    return text.next;
  }

  #readFixed(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + this.#left);
    this.#left -= end - at;
    this.#sink.onData(chunk.subarray(at, end));
    if (this.#left === 0) this.#end();
    return end;
  }

  /** Reads the framing of chunks. What is read together is passed on together, so that many small chunks stay cheap. */
  #readChunks(chunk: Buffer, start: number): number {
    let at = start;
    let from = 0;
    let to = 0;
    while (at < chunk.length && this.#state !== 'trailers') {
      if (this.#state !== 'chunk') {
        this.#frame(chunk[at] ?? 0);
        at += 1;
        continue;
      }
      const end = Math.min(chunk.length, at + this.#left);
      this.#left -= end - at;
      if (this.#left === 0) this.#state = 'after-chunk';
      if (to > from && end - at <= JOIN_BYTES) {
        chunk.copyWithin(to, at, end);
        to += end - at;
      } else {
        if (to > from) this.#sink.onData(chunk.subarray(from, to));
        from = at;
        to = end;
      }
      at = end;
    }
    if (to > from) this.#sink.onData(chunk.subarray(from, to));
    return at;
  }

  /** Reads one byte around the chunks: `CRLF` after a chunk, the size of the next one, its extensions, and `CRLF`. */
  #frame(byte: number): void {
    switch (this.#state) {
      case 'after-chunk':
        if (byte !== CR) throw new InvalidAnswerError('a chunk is longer than its size');
        this.#state = 'chunk-end';
        return;
      case 'chunk-end':
        if (byte !== LF) throw new InvalidAnswerError('a chunk is longer than its size');
        this.#expectSize();
        return;
      case 'size': {
        const digit = hexDigit(byte);
        if (digit >= 0 && this.#digits < MAX_SIZE_DIGITS) {
          this.#left = this.#left * 16 + digit;
          this.#digits += 1;
        } else if (this.#digits > 0 && byte === CR) this.#state = 'size-end';
        else if (this.#digits > 0 && byte === SEMICOLON) this.#state = 'extension';
        else throw new InvalidAnswerError('the size of a chunk');
        return;
      }
      case 'extension':
        this.#extension += 1;
        if (byte === CR) this.#state = 'size-end';
        else if (!isText(byte) || this.#extension > MAX_EXTENSION_BYTES) {
          throw new InvalidAnswerError('the extension of a chunk');
        }
        return;
      default:
        if (byte !== LF) throw new InvalidAnswerError('the size of a chunk');
        this.#state = this.#left > 0 ? 'chunk' : 'trailers';
        // Trailers end with an empty line. With the end of the size's line, it looks like that of a head.
        if (this.#left === 0) this.#partial = END_OF_LINE;
    }
  }

  #expectSize(): void {
    this.#state = 'size';
    this.#left = 0;
    this.#digits = 0;
    this.#extension = 0;
  }

  /** Trailers are not passed on. */
  #readTrailers(chunk: Buffer, at: number): number {
    const text = this.#upTo(END_OF_HEAD, chunk, at);
    if (text === null) return chunk.length;
    this.#end();
    return text.next;
  }

  #end(): void {
    this.#state = 'done';
    this.#sink.onEnd();
  }

  /**
   * Reads up to `mark`, which ends a head or trailers. `content` is the text before the mark, with the part of it that earlier chunks
   * brought. `next` is the index in `chunk` after the mark. Null if the mark has not come yet; then the bytes are kept for the next
   * chunk. Throws `InvalidAnswerError` if the text has more than `MAX_HEADER_BYTES`.
   */
  #upTo(mark: Buffer, chunk: Buffer, at: number): { content: string; next: number } | null {
    const before = this.#partial;
    if (before.length === 0) {
      const end = chunk.indexOf(mark, at);
      if (end >= 0 && end - at <= MAX_HEADER_BYTES)
        return { content: chunk.toString('latin1', at, end), next: end + mark.length };
    }
    // No more than the limit is kept, and copied, of a head that comes in many pieces.
    const rest = chunk.subarray(at, at + MAX_HEADER_BYTES + mark.length - before.length);
    const all = Buffer.concat([before, rest]);
    const end = all.indexOf(mark, Math.max(0, before.length - mark.length + 1));
    if (end < 0 && all.length < MAX_HEADER_BYTES) {
      this.#partial = all;
      return null;
    }
    if (end < 0 || end > MAX_HEADER_BYTES)
      throw new InvalidAnswerError(`a head of more than ${MAX_HEADER_BYTES} bytes`);
    this.#partial = NOTHING;
    return { content: all.toString('latin1', 0, end), next: at + end + mark.length - before.length };
  }
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

function isText(byte: number): boolean {
  return byte === 9 || (byte >= 32 && byte !== 127);
}
