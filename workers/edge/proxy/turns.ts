/** How long sources go on in one iteration of the event loop. */
const ITERATION_MS = 2;
const FORGET_AFTER = 1_024;

/**
 * Lets sources go on in turn, for a short time in each iteration of the event loop. An iteration accepts one connection,
 * however many wait: if every stream under way went on in each, thousands of them would keep new clients out. In an iteration
 * that has accepted one, a single source goes on, so that the next one is accepted soon.
 */
class Turns {
  #waiting: (() => void)[] = [];
  #next = 0;
  #scheduled = false;
  #accepted = false;

  /** Calls back when it is this source's turn, never within this call. */
  take(callback: () => void): void {
    this.#waiting.push(callback);
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#serve);
  }

  /** A connection was accepted in this iteration. */
  accepted(): void {
    this.#accepted = true;
  }

  readonly #serve = (): void => {
    const end = performance.now() + (this.#accepted ? 0 : ITERATION_MS);
    this.#accepted = false;
    const before = this.#waiting.length;
    do {
      this.#waiting[this.#next]?.();
      this.#next += 1;
    } while (this.#next < before && performance.now() < end);
    if (this.#next >= this.#waiting.length || this.#next >= FORGET_AFTER) {
      this.#waiting.splice(0, this.#next);
      this.#next = 0;
    }
    this.#scheduled = this.#waiting.length > 0;
    if (this.#scheduled) setImmediate(this.#serve);
  };
}

/** Of this process: its event loop is one. */
export const turns = new Turns();
