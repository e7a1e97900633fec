import type { Exchange } from './exchange.js';

/** Requests of one service that wait on one edge (design, section 8). */
const MAX_HELD = 1_000;

/** What happens with a request that waits. */
interface Held {
  exchange: Exchange;
  timer: NodeJS.Timeout;
  /** Answers it, because its service has a replica again. */
  resume: () => void;
  /** Answers it, because it has waited long enough. */
  giveUp: () => void;
}

/**
 * Requests that wait while the one replica of a service is replaced. Their bodies stay unread, so that clients wait with what they have not
 * sent.
 */
export class HeldRequests {
  readonly #holdMs: number;
  readonly #byService = new Map<string, Set<Held>>();

  /** `holdMs` is how long each waits, in milliseconds. */
  constructor(holdMs: number) {
    this.#holdMs = holdMs;
  }

  get size(): number {
    return [...this.#byService.values()].reduce((sum, held) => sum + held.size, 0);
  }

  /** Lets a request wait. Returns false if as many of its service wait as may. */
  hold(exchange: Exchange, serviceId: string, { resume, giveUp }: Pick<Held, 'resume' | 'giveUp'>): boolean {
    const held = this.#byService.get(serviceId) ?? new Set();
    if (held.size >= MAX_HELD) return false;
    this.#byService.set(serviceId, held);
    const { containment } = exchange;
    const entry: Held = {
      exchange,
      timer: setTimeout(() => this.#end(serviceId, entry, entry.giveUp), this.#holdMs),
      resume: containment.guard(resume),
      giveUp: containment.guard(giveUp),
    };
    held.add(entry);
    exchange.onClientGone = () => this.#end(serviceId, entry, () => undefined);
    return true;
  }

  /** Answers those that need not wait any more. `holds` tells of a host whether its requests have to. */
  wake(holds: (host: string) => boolean): void {
    for (const [serviceId, held] of this.#byService) {
      for (const entry of [...held]) {
        if (!holds(entry.exchange.host)) this.#end(serviceId, entry, entry.resume);
      }
    }
  }

  /** Answers all, because the edge ends. */
  close(): void {
    for (const [serviceId, held] of this.#byService) {
      for (const entry of [...held]) this.#end(serviceId, entry, entry.giveUp);
    }
  }

  #end(serviceId: string, entry: Held, then: () => void): void {
    const held = this.#byService.get(serviceId);
    if (!held?.delete(entry)) return;
    if (held.size === 0) this.#byService.delete(serviceId);
    clearTimeout(entry.timer);
    entry.exchange.onClientGone = null;
    then();
  }
}
