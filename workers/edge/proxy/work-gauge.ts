/** Counts work in progress. `empty` waits until there is none. */
export class Gauge {
  #value = 0;
  #waiting: (() => void)[] = [];

  get value(): number {
    return this.#value;
  }

  add(): void {
    this.#value += 1;
  }

  remove(): void {
    this.#value -= 1;
    if (this.#value > 0 || this.#waiting.length === 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Resolves when the count is zero, or after this time. */
  async empty(withinMs: number): Promise<void> {
    if (this.#value === 0) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      timer = setTimeout(resolve, withinMs);
    });
    clearTimeout(timer);
  }
}
