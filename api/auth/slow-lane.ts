import { setTimeout as delay } from 'node:timers/promises';

/** Admits callers with the same key one after another, at a fixed interval. Each process counts separately. */
export class SlowLane {
  readonly #intervalMs: number;
  readonly #longestWaitMs: number;
  /** Key → time of its next turn, in milliseconds of performance.now(). */
  readonly #next = new Map<string, number>();

  constructor({ intervalMs, longestWaitMs }: { intervalMs: number; longestWaitMs: number }) {
    this.#intervalMs = intervalMs;
    this.#longestWaitMs = longestWaitMs;
  }

  /** Waits for the key's next turn. Resolves to false immediately if the wait would be too long. */
  async turn(key: string): Promise<boolean> {
    const now = performance.now();
    const at = Math.max(now, this.#next.get(key) ?? 0);
    if (at - now > this.#longestWaitMs) return false;
    const next = at + this.#intervalMs;
    this.#next.set(key, next);
    await delay(at - now);
    // Without this removal, the map would only grow.
    void delay(this.#intervalMs, undefined, { ref: false }).then(() => {
      if (this.#next.get(key) === next) this.#next.delete(key);
    });
    return true;
  }
}
