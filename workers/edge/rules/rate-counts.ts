/** Maximum number of clients that one rule counts (some 10 MiB), and that all rules of an edge count (some 50 MiB). */
const MAX_CLIENTS = 50_000;
const MAX_OF_EDGE = 250_000;

interface Window {
  endsAt: number;
  left: number;
}

/** How many clients the rule with the most of them forgets when the edge counts too many. */
const FORGOTTEN_AT_ONCE = 1_000;

/** The rules that count any client, and the number of clients that all of them count. */
const rules = new Set<RateCounts>();
let counted = 0;

/**
 * Counts the requests of each client in time windows of a fixed length, in memory. A rule with too many clients forgets
 * those whose windows began first. If all rules of the edge together have too many, the rule with the most clients
 * does, so that a flood of one rule leaves the others as they are.
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
    this.#forgetEnded(now);
    if (this.size >= MAX_CLIENTS) this.#forgetFirst(1);
    if (counted >= MAX_OF_EDGE) largest().#forgetFirst(FORGOTTEN_AT_ONCE);
    this.#windows.set(client, { endsAt: now + perMs, left: requests - 1 });
    rules.add(this);
    counted += 1;
    return 0;
  }

  /** Forgets all clients of a rule that was replaced, and admits the requests that still find it. */
  close(): void {
    this.#closed = true;
    this.#forgetFirst(this.size);
  }

  /** Ended windows come first in the map, because all windows of a rule have the same length. */
  #forgetEnded(now: number): void {
    for (const [client, { endsAt }] of this.#windows) {
      if (endsAt > now) return;
      this.#forget(client);
    }
  }

  #forgetFirst(count: number): void {
    let left = count;
    for (const client of this.#windows.keys()) {
      if (left === 0) return;
      left -= 1;
      this.#forget(client);
    }
  }

  #forget(client: string): void {
    if (!this.#windows.delete(client)) return;
    counted -= 1;
    if (this.size === 0) rules.delete(this);
  }
}

function largest(): RateCounts {
  return [...rules].reduce((most, rule) => (rule.size > most.size ? rule : most));
}
