/** Longer lines of output are delivered in pieces. */
export const MAX_LINE_LENGTH = 16 * 1024;

/** Decides where a long line may be split, so that no secret is split and escapes masking. */
export interface LineCutter {
  /** Number of characters after a split position that must be known before the split is decided. */
  readonly lookahead: number;
  /** Returns the first position, from `at` on, at which the text may be split. */
  cut(text: string, at: number): number;
}

const ANYWHERE: LineCutter = { lookahead: 0, cut: (_, at) => at };

/**
 * Splits bytes into lines. Invalid UTF-8 and NUL become U+FFFD. Long lines are split, so that output without line
 * breaks cannot fill the memory.
 */
export class LineSplitter {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  readonly #cutter: LineCutter;
  #pending = '';

  constructor(cutter: LineCutter = ANYWHERE) {
    this.#cutter = cutter;
  }

  /** Returns the lines that this chunk completes. */
  push(chunk: Uint8Array): string[] {
    return this.#take(this.#decoder.decode(chunk, { stream: true }));
  }

  /** Returns the last line if it has no line break. */
  end(): string[] {
    const lines = this.#take(this.#decoder.decode());
    if (this.#pending !== '') lines.push(...this.#pieces(this.#pending, 0).map(clean));
    this.#pending = '';
    return lines;
  }

  #take(text: string): string[] {
    const lines: string[] = [];
    const parts = (this.#pending + text).split('\n');
    this.#pending = parts.pop() ?? '';
    for (const part of parts) lines.push(...this.#pieces(part, 0).map(clean));
    const begun = this.#pieces(this.#pending, this.#cutter.lookahead);
    this.#pending = begun.pop() ?? '';
    lines.push(...begun.map(clean));
    return lines;
  }

  /**
   * Splits a line into pieces of the maximum length. The last piece may be longer by `more` characters. The cutter
   * needs these characters to decide where to split, and an incomplete line may not have them yet.
   */
  #pieces(line: string, more: number): string[] {
    const found: string[] = [];
    let start = 0;
    while (line.length - start > MAX_LINE_LENGTH + more) {
      const end =
        start +
        cutAt(line.slice(start, start + MAX_LINE_LENGTH + this.#cutter.lookahead), MAX_LINE_LENGTH, this.#cutter);
      found.push(line.slice(start, end));
      start = end;
    }
    found.push(line.slice(start));
    return found;
  }
}

/** Returns the position at which the cutter splits a text. Never divides a surrogate pair. */
export function cutAt(text: string, at: number, cutter: LineCutter): number {
  const end = cutter.cut(text, at);
  const high = text.charCodeAt(end - 1);
  return high >= 0xd800 && high <= 0xdbff ? end - 1 : end;
}

function clean(line: string): string {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line;
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text;
}
