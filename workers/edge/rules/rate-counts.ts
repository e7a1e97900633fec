/** How many addresses one rule counts, and all rules of an edge: some 10 and 50 MiB. */
const MAX_CLIENTS = 50_000;
const MAX_OF_EDGE = 250_000;

interface Window {
  endsAt: number;
  left: number;
}

let counted = 0;

/**
 * Counts the requests of each client in windows of a fixed time, in memory. At the limit of clients, those whose window
 * began first are forgotten: a rule that counts more of them loses only counts of its own.
 */
export class RateCounts {
  readonly #windows = new Map<string, Window>();

  get size(): number {
    return this.#windows.size;
  }

  /** Counts a request. Returns 0 if it is admitted, otherwise the milliseconds until the client's next window. */
  take(client: string, requests: number, perMs: number, now: number): number {
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

  /** Forgets all counts. */
  clear(): void {
    for (const client of this.#windows.keys()) this.#forget(client);
  }

  /** Windows of one rule have one length, so the first of the map ends first. */
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
