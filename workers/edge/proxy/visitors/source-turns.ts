/** How long streams to clients may run in each iteration of the event loop. */
const ITERATION_MS = 2;
const FORGET_AFTER = 1_024;

/**
 * Lets open streams run in turn, for a short time in each iteration of the event loop. An iteration accepts only one
 * connection, however many are waiting. If every stream ran in each iteration, thousands of streams would delay new
 * clients. After an iteration has accepted a connection, only one stream runs, so that the next connection is accepted
 * soon.
 */
class Turns {
  #waiting: (() => void)[] = [];
  #next = 0;
  #scheduled = false;
  #accepted = false;

  /** Calls the callback when its turn comes, but never before `take` has returned. */
  take(callback: () => void): void {
    this.#waiting.push(callback);
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#serve);
  }

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

/** One instance for the process, because it has one event loop. */
export const turns = new Turns();
