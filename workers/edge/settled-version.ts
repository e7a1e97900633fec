import { VERSION_OVERLAP } from '../../shared/routing/store.js';

/** A route's version is committed at most this long after it was taken from the sequence. */
const COMMIT_MS = 60_000;

/**
 * Tells which versions of routes need not be read again. Versions come from a sequence, so a lower one may be committed
 * after a higher one. A version is settled `COMMIT_MS` after the edge knew a higher one, or once the edge knows a
 * version that is higher by `VERSION_OVERLAP`.
 */
export class SettledVersion {
  #settled = 0;
  #next: { version: number; at: number };

  constructor(newest: number, now: number) {
    this.#next = { version: newest, at: now };
  }

  /** Returns the highest settled version. `newest` is the newest version that the edge knows. */
  at(newest: number, now: number): number {
    if (now - this.#next.at >= COMMIT_MS) {
      this.#settled = this.#next.version;
      this.#next = { version: newest, at: now };
    }
    return Math.max(this.#settled, newest - VERSION_OVERLAP);
  }
}
