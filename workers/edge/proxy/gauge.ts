/** Counts what is under way, and tells when nothing is. */
export class Gauge {
  #value = 0;
  #waiting: (() => void)[] = [];

  get value(): number {
    return this.#value;
  }

  /** Counts one more; the function returned counts it off again, once. */
  enter(): () => void {
    this.#value += 1;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#value -= 1;
      if (this.#value > 0) return;
      for (const resolve of this.#waiting.splice(0)) resolve();
    };
  }

  /** Resolves at zero, or after the time given. */
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
