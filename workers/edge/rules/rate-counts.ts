/** The clients of one rule take some 10 MiB, those of all rules of an edge some 50 MiB. */
const MAX_CLIENTS = 50_000;
const MAX_OF_EDGE = 250_000;

interface Window {
  endsAt: number;
  left: number;
}

const COUNT_AFTER = 1_000;

/** The garbage collector removes rules that were replaced. */
const rules = new Set<WeakRef<RateCounts>>();
let added = 0;

/**
 * Counts the requests of each client in time windows of a fixed length. If there are too many clients, the rule with
 * the most clients forgets some. Thus a flood against one rule does not affect the other rules.
 */
export class RateCounts {
  readonly #windows = new Map<string, Window>();

  constructor() {
    rules.add(new WeakRef(this));
  }

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
    this.#windows.delete(client);
    this.#forgetEnded(now);
    if (this.size >= MAX_CLIENTS) this.forgetFirst(1);
    this.#windows.set(client, { endsAt: now + perMs, left: requests - 1 });
    added += 1;
    if (added % COUNT_AFTER === 0) boundAll();
    return 0;
  }

  clear(): void {
    this.#windows.clear();
  }

  /** Forgets the clients whose windows began first. */
  forgetFirst(count: number): void {
    let left = count;
    for (const client of this.#windows.keys()) {
      if (left <= 0) return;
      left -= 1;
      this.#windows.delete(client);
    }
  }

  /** Ended windows come first in the map, because all windows of a rule have the same length. */
  #forgetEnded(now: number): void {
    for (const [client, { endsAt }] of this.#windows) {
      if (endsAt > now) return;
      this.#windows.delete(client);
    }
  }
}

function boundAll(): void {
  let all = 0;
  let largest: RateCounts | null = null;
  for (const reference of rules) {
    const rule = reference.deref();
    if (rule === undefined) rules.delete(reference);
    else {
      all += rule.size;
      if (largest === null || rule.size > largest.size) largest = rule;
    }
  }
  largest?.forgetFirst(all - MAX_OF_EDGE);
}
