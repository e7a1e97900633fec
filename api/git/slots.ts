import { AppError } from '../../shared/core/errors.js';

/** Counts what runs at a time, of one workspace and of all; refuses what is more. */
export class Slots {
  readonly #most: { each: number; all: number };
  readonly #running = new Map<string, number>();
  #all = 0;

  constructor(most: { each: number; all: number }) {
    this.#most = most;
  }

  /** Returns how to give the slot back. Throws rate_limited. */
  take(key: string): () => void {
    const running = this.#running.get(key) ?? 0;
    if (running >= this.#most.each || this.#all >= this.#most.all) {
      throw new AppError('rate_limited', 'Too many pushes or fetches are under way; try again when one has ended');
    }
    this.#running.set(key, running + 1);
    this.#all += 1;
    let taken = true;
    return () => {
      if (!taken) return;
      taken = false;
      this.#all -= 1;
      const left = (this.#running.get(key) ?? 1) - 1;
      if (left > 0) this.#running.set(key, left);
      else this.#running.delete(key);
    };
  }
}
