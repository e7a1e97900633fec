import type { Route } from '../route-table.js';
import type { Exchange } from './exchange.js';

/** The most requests of one service that wait on one edge (design, section 8). */
const MAX_HELD = 1_000;

/** What happens with a request that waits. */
interface Held {
  exchange: Exchange;
  /** The route that had no replica for the request. */
  route: Route;
  timer: NodeJS.Timeout;
  /** Answers the request, because its service has a replica again. */
  resume: () => void;
  /** Answers the request, because it has waited for the longest allowed time. */
  giveUp: () => void;
}

/** Returns true if requests on this route wait for a replica. */
export function holds({ target }: Route): boolean {
  return target.type !== 'static' && target.holds === true;
}

/**
 * Requests that wait while the one replica of a service is replaced. Their bodies stay unread, so that clients hold
 * back what they have not sent yet.
 */
export class HeldRequests {
  readonly #holdMs: number;
  readonly #byService = new Map<string, Set<Held>>();

  constructor(holdMs: number) {
    this.#holdMs = holdMs;
  }

  get size(): number {
    return [...this.#byService.values()].reduce((sum, held) => sum + held.size, 0);
  }

  /** Lets a request wait. Returns false if `MAX_HELD` requests of its service wait already. */
  hold(exchange: Exchange, route: Route, { resume, giveUp }: Pick<Held, 'resume' | 'giveUp'>): boolean {
    const { serviceId } = route;
    const held = this.#byService.get(serviceId) ?? new Set();
    if (held.size >= MAX_HELD) return false;
    this.#byService.set(serviceId, held);
    const { containment } = exchange;
    const entry: Held = {
      exchange,
      route,
      timer: setTimeout(() => this.#end(serviceId, entry, entry.giveUp), this.#holdMs),
      resume: containment.guard(resume),
      giveUp: containment.guard(giveUp),
    };
    held.add(entry);
    exchange.onClientGone = () => this.#end(serviceId, entry, () => undefined);
    return true;
  }

  /**
   * Answers the waiting requests whose route has changed, unless it still has no replica. `routeOf` returns the current
   * route of a host.
   */
  wake(routeOf: (host: string) => Route | undefined): void {
    for (const [serviceId, held] of this.#byService) {
      for (const entry of [...held]) {
        const route = routeOf(entry.exchange.host);
        const isWaiting = route !== undefined && holds(route) && route.target.type === 'unavailable';
        if (route !== entry.route && !isWaiting) this.#end(serviceId, entry, entry.resume);
      }
    }
  }

  /** Answers all waiting requests, because the edge ends. */
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
