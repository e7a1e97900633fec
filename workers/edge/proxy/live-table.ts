import type { BlockList } from 'node:net';
import type { Route, RouteTable } from '../route-table.js';
import type { ServiceTraffic, TrafficMeter } from '../traffic-meter.js';
import type { ReplicaTimes } from './replicas/replica-connections.js';
import { Upstream } from './replicas/upstream.js';
import { compileAllowList } from './visitors/allow-list.js';

/** A route that is ready to serve: its allow list is compiled, and its replicas have connections. */
export interface LiveRoute {
  route: Route;
  allow: BlockList | null;
  upstreams: readonly Upstream[];
  traffic: ServiceTraffic;
}

/** The table that the proxy serves. A swap is one assignment. Replicas that stay keep their connections. */
export class LiveTable {
  readonly #timeouts: ReplicaTimes;
  readonly #meter: TrafficMeter;
  #routes: ReadonlyMap<string, LiveRoute> = new Map();
  #upstreams = new Map<string, Upstream>();

  constructor(timeouts: ReplicaTimes, meter: TrafficMeter) {
    this.#timeouts = timeouts;
    this.#meter = meter;
  }

  get size(): { routes: number; upstreams: number } {
    return { routes: this.#routes.size, upstreams: this.#upstreams.size };
  }

  find(host: string): LiveRoute | undefined {
    return this.#routes.get(host);
  }

  /** Serves the table from now on. Returns the upstreams that no route uses any more. */
  swap(table: RouteTable): Upstream[] {
    const upstreams = new Map<string, Upstream>();
    const routes = new Map<string, LiveRoute>();
    for (const [host, route] of table) routes.set(host, this.#live(host, route, upstreams));
    const left = [...this.#upstreams].filter(([key]) => !upstreams.has(key)).map(([, upstream]) => upstream);
    this.#routes = routes;
    this.#upstreams = upstreams;
    this.#meter.serve(new Set([...table.values()].map((route) => route.serviceId)));
    // The upstream finishes its requests and gets no new ones.
    for (const upstream of left) upstream.close();
    return left;
  }

  #live(host: string, route: Route, upstreams: Map<string, Upstream>): LiveRoute {
    const replicas = route.target.type === 'proxy' ? route.target.replicas : [];
    const mine = replicas.map((replica) => {
      // A later replica may get the port, so the replica's id is part of the key.
      const key = `${replica.id} ${replica.address} ${replica.port}`;
      const upstream = upstreams.get(key) ?? this.#upstreams.get(key) ?? new Upstream(replica, this.#timeouts);
      upstreams.set(key, upstream);
      return upstream;
    });
    const before = this.#routes.get(host);
    if (before?.route === route) return before;
    return { route, allow: compileAllowList(route.allow), upstreams: mine, traffic: this.#meter.of(route.serviceId) };
  }

  /** Ends every connection at once, with its requests. */
  destroy(): void {
    for (const upstream of this.swap(new Map())) upstream.pool.destroy();
  }
}
