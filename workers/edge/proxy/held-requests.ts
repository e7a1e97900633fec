import type { Route } from '../route-table.js';
import type { Exchange } from './exchange.js';

/** An edge holds at most this many requests of a service. */
const MAX_HELD = 1_000;

interface Held {
  exchange: Exchange;
  /** The route that had no replica for the request. */
  route: Route;
  timer: NodeJS.Timeout;
  resume: () => void;
  giveUp: () => void;
}

/** Returns true if requests on this route are held while no replica is available. */
export function holds({ target }: Route): boolean {
  return target.type !== 'static' && target.holds === true;
}

/** Holds requests while a service has no replica. Bodies are not read, so that clients pause sending. */
export class HeldRequests {
  readonly #holdMs: number;
  readonly #byService = new Map<string, Set<Held>>();

  constructor(holdMs: number) {
    this.#holdMs = holdMs;
  }

  /** Holds a request. Returns false if `MAX_HELD` requests of the service are already held. */
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

  /** Resumes the requests whose route has changed, unless the new route has no replica either. */
  wake(routeOf: (host: string) => Route | undefined): void {
    for (const [serviceId, held] of this.#byService) {
      for (const entry of [...held]) {
        const route = routeOf(entry.exchange.host);
        const isWaiting = route !== undefined && holds(route) && route.target.type === 'unavailable';
        if (route !== entry.route && !isWaiting) this.#end(serviceId, entry, entry.resume);
      }
    }
  }

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
