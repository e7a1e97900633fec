/** Keeps the last lines of a stream and drops older ones. */
export class LastLines {
  readonly #limit: number;
  readonly #lines: string[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length > this.#limit) this.#lines.shift();
  }

  get lines(): readonly string[] {
    return this.#lines;
  }
}
