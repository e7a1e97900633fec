import type { BlockList } from 'node:net';
import type { ReadyReplica } from '../../../shared/routing/store.js';
import { canaryKey, type LiveCanary } from '../canary/live-canary.js';
import type { Route, RouteTable } from '../route-table.js';
import type { ServiceTraffic, TrafficMeter } from '../traffic-meter.js';
import type { ReplicaTimes } from './replicas/replica-connections.js';
import { Upstream } from './replicas/upstream.js';
import { compileAllowList } from './visitors/allow-list.js';

/** A route that is ready to serve: its allow list is compiled, and its replicas have connection pools. */
export interface LiveRoute {
  route: Route;
  allow: BlockList | null;
  upstreams: readonly Upstream[];
  traffic: ServiceTraffic;
  /** Set while a share of the visitors gets another release. */
  canary: LiveCanary | null;
}

/**
 * The table that the proxy serves. A swap is one assignment. Replicas that stay in the table keep their connections.
 */
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
    this.#meter.canaries.serve(
      new Set(
        [...routes.values()].flatMap(({ canary }) =>
          canary === null ? [] : [canary.new.serviceId, canary.previous.serviceId],
        ),
      ),
    );
    // The upstream finishes its requests and gets no new ones.
    for (const upstream of left) upstream.close();
    return left;
  }

  #live(host: string, route: Route, upstreams: Map<string, Upstream>): LiveRoute {
    const { replicas, canary = null } = route.target.type === 'proxy' ? route.target : { replicas: [] };
    const mine = this.#connected(replicas, upstreams);
    const others = canary === null ? [] : this.#connected(canary.replicas, upstreams);
    const before = this.#routes.get(host);
    if (before?.route === route) return before;
    const traffic = this.#meter.of(route.serviceId);
    traffic.sleeps = route.sleeps;
    const live = { route, allow: compileAllowList(route.allow), upstreams: mine, traffic };
    if (canary === null) return { ...live, canary };
    const { deploymentId, percent } = canary;
    const countsOf = (side: 'new' | 'previous') => this.#meter.canaries.of(canaryKey(deploymentId, side));
    const [fresh, previous] = [countsOf('new'), countsOf('previous')];
    return { ...live, canary: { deploymentId, percent, upstreams: others, new: fresh, previous } };
  }

  /** Returns the upstreams of these replicas, and notes them in `upstreams`. */
  #connected(replicas: readonly ReadyReplica[], upstreams: Map<string, Upstream>): Upstream[] {
    return replicas.map((replica) => {
      // A later replica may get the port, so the replica's id is part of the key.
      const key = `${replica.id} ${replica.address} ${replica.port}`;
      const upstream = upstreams.get(key) ?? this.#upstreams.get(key) ?? new Upstream(replica, this.#timeouts);
      upstreams.set(key, upstream);
      return upstream;
    });
  }

  /** Closes every connection at once and aborts its requests. */
  destroy(): void {
    for (const upstream of this.swap(new Map())) upstream.pool.destroy();
  }
}
