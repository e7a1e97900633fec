/** Maximum number of clients that one rule counts (some 10 MiB), and that all rules of an edge count (some 50 MiB). */
const MAX_CLIENTS = 50_000;
const MAX_OF_EDGE = 250_000;

interface Window {
  endsAt: number;
  left: number;
}

let counted = 0;

/**
 * Counts the requests of each client in time windows of a fixed length, in memory. When a maximum number of clients is
 * reached, a rule forgets those of its own clients whose windows began first, and no clients of other rules.
 */
export class RateCounts {
  readonly #windows = new Map<string, Window>();
  #closed = false;

  get size(): number {
    return this.#windows.size;
  }

  /** Counts a request. Returns 0 if it is admitted, otherwise the milliseconds until the client's next window. */
  take(client: string, requests: number, perMs: number, now: number): number {
    if (this.#closed) return 0;
    const known = this.#windows.get(client);
    if (known !== undefined && known.endsAt > now) {
      if (known.left === 0) return known.endsAt - now;
      known.left -= 1;
      return 0;
    }
    this.#forget(client);
    this.#makeRoom(now);
    this.#windows.set(client, { endsAt: now + perMs, left: requests - 1 });
    counted += 1;
    return 0;
  }

  /** Forgets all clients of a rule that was replaced. Requests that still use this rule are admitted. */
  close(): void {
    this.#closed = true;
    for (const client of this.#windows.keys()) this.#forget(client);
  }

  /**
   * Forgets windows that have ended. If there are still too many windows, also forgets those that end next. The windows
   * are in the order of their ends, because all windows of a rule have the same length.
   */
  #makeRoom(now: number): void {
    for (const [client, { endsAt }] of this.#windows) {
      if (endsAt > now && this.#windows.size < MAX_CLIENTS && counted < MAX_OF_EDGE) return;
      this.#forget(client);
    }
  }

  #forget(client: string): void {
    if (this.#windows.delete(client)) counted -= 1;
  }
}
