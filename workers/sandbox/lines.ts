/** A longer line of output is delivered in pieces of this many characters. */
export const LONGEST_LINE = 16 * 1024;

/** Says where a line that is too long may be cut, so that what must stay together does (a secret that is to be masked). */
export interface LineCutter {
  /** Characters that have to be seen behind a cut before it can be made. */
  readonly lookahead: number;
  /** The first good place from `at` on. */
  cut(text: string, at: number): number;
}

const ANYWHERE: LineCutter = { lookahead: 0, cut: (_, at) => at };

/** Cuts a stream of bytes into lines: invalid UTF-8 and NUL become U+FFFD, memory is bounded by the longest line. */
export class LineSplitter {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  readonly #cutter: LineCutter;
  #pending = '';

  constructor(cutter: LineCutter = ANYWHERE) {
    this.#cutter = cutter;
  }

  /** The lines that this chunk completes, without their ends. */
  push(chunk: Uint8Array): string[] {
    return this.#take(this.#decoder.decode(chunk, { stream: true }));
  }

  /** What is left at the end of the stream: a last line that nobody ended. */
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

  /** `more`: characters that have to stay behind the last cut, because the line is not at its end. */
  #pieces(line: string, more: number): string[] {
    const found: string[] = [];
    let start = 0;
    while (line.length - start > LONGEST_LINE + more) {
      const end =
        start + cutAt(line.slice(start, start + LONGEST_LINE + this.#cutter.lookahead), LONGEST_LINE, this.#cutter);
      found.push(line.slice(start, end));
      start = end;
    }
    found.push(line.slice(start));
    return found;
  }
}

/** The cutter's place, but not between the halves of a surrogate pair. */
export function cutAt(text: string, at: number, cutter: LineCutter): number {
  const end = cutter.cut(text, at);
  const high = text.charCodeAt(end - 1);
  return high >= 0xd800 && high <= 0xdbff ? end - 1 : end;
}

function clean(line: string): string {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line;
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text;
}
