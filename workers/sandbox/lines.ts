/** A longer line of output is delivered in pieces of this many characters. */
export const LONGEST_LINE = 16 * 1024;

/** Cuts a stream of bytes into lines: invalid UTF-8 and NUL become U+FFFD, memory is bounded by the longest line. */
export class LineSplitter {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  #pending = '';

  /** The lines that this chunk completes, without their ends. */
  push(chunk: Uint8Array): string[] {
    return this.#take(this.#decoder.decode(chunk, { stream: true }));
  }

  /** What is left at the end of the stream: a last line that nobody ended. */
  end(): string[] {
    const lines = this.#take(this.#decoder.decode());
    if (this.#pending !== '') lines.push(clean(this.#pending));
    this.#pending = '';
    return lines;
  }

  #take(text: string): string[] {
    const lines: string[] = [];
    const parts = (this.#pending + text).split('\n');
    this.#pending = parts.pop() ?? '';
    for (const part of parts) lines.push(...pieces(part).map(clean));
    if (this.#pending.length > LONGEST_LINE) {
      const whole = pieces(this.#pending);
      this.#pending = whole.pop() ?? '';
      lines.push(...whole.map(clean));
    }
    return lines;
  }
}

function pieces(line: string): string[] {
  if (line.length <= LONGEST_LINE) return [line];
  const found: string[] = [];
  let start = 0;
  while (line.length - start > LONGEST_LINE) {
    const high = line.charCodeAt(start + LONGEST_LINE - 1);
    // Not between the halves of a surrogate pair.
    const end = start + LONGEST_LINE - (high >= 0xd800 && high <= 0xdbff ? 1 : 0);
    found.push(line.slice(start, end));
    start = end;
  }
  found.push(line.slice(start));
  return found;
}

function clean(line: string): string {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line;
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text;
}
