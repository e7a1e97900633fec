import type { Route } from '../route-table.js';
import type { Exchange } from './exchange.js';

/** Maximum number of a service's requests that one edge holds. */
const MAX_HELD = 1_000;

interface Held {
  exchange: Exchange;
  /** The route that had no replica for the request. */
  route: Route;
  timer: NodeJS.Timeout;
  /** Handles the request again, because its service has a replica again. */
  resume: () => void;
  /** Responds to the request with an error, because it has been held for the maximum time. */
  giveUp: () => void;
}

/** Returns true if requests on this route are held while no replica is available. */
export function holds({ target }: Route): boolean {
  return target.type !== 'static' && target.holds === true;
}

/**
 * Requests held while a service has no replica: its only replica is replaced, or the service wakes from sleep. Bodies
 * are not read, so that clients pause sending.
 */
export class HeldRequests {
  readonly #holdMs: number;
  readonly #byService = new Map<string, Set<Held>>();

  constructor(holdMs: number) {
    this.#holdMs = holdMs;
  }

  /** Holds a request. Returns false if `MAX_HELD` requests of its service are already held. */
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

  /** Resumes the held requests whose route has changed, unless the new route has no replica either. */
  wake(routeOf: (host: string) => Route | undefined): void {
    for (const [serviceId, held] of this.#byService) {
      for (const entry of [...held]) {
        const route = routeOf(entry.exchange.host);
        const isWaiting = route !== undefined && holds(route) && route.target.type === 'unavailable';
        if (route !== entry.route && !isWaiting) this.#end(serviceId, entry, entry.resume);
      }
    }
  }

  /** Responds to all held requests, because the edge is closing. */
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
