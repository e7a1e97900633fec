import type { BlockList } from 'node:net';
import type { ReadyReplica } from '../../../shared/routing/store.js';
import { canaryKey, type LiveCanary } from '../canary/live-canary.js';
import type { Route, RouteTable } from '../route-table.js';
import type { ServiceTraffic, TrafficMeter } from '../traffic-meter.js';
import type { ReplicaTimes } from './replicas/replica-connections.js';
import { Upstream, upstreamKey } from './replicas/upstream.js';
import { compileAllowList } from './visitors/allow-list.js';

/** A route whose allow list is compiled, and whose replicas have connection pools. */
export interface LiveRoute {
  route: Route;
  allow: BlockList | null;
  upstreams: readonly Upstream[];
  traffic: ServiceTraffic;
  canary: LiveCanary | null;
}

/** The table that the proxy serves. Replicas that remain after a swap keep their connections. */
export class LiveTable {
  readonly #timeouts: ReplicaTimes;
  readonly #meter: TrafficMeter;
  #table: RouteTable = new Map();
  /** The routes that have had a visitor. All others are prepared later, so that a large edge starts sooner. */
  readonly #routes = new Map<string, LiveRoute>();
  readonly #upstreams = new Map<string, Upstream>();

  constructor(timeouts: ReplicaTimes, meter: TrafficMeter) {
    this.#timeouts = timeouts;
    this.#meter = meter;
  }

  get size(): { routes: number; upstreams: number } {
    return { routes: this.#table.size, upstreams: this.#upstreams.size };
  }

  find(host: string): LiveRoute | undefined {
    const known = this.#routes.get(host);
    const route = this.#table.get(host);
    if (known !== undefined || route === undefined) return known;
    const live = this.#live(route);
    this.#routes.set(host, live);
    return live;
  }

  /** Serves the table from now on. Returns the upstreams that no route uses any more. */
  swap(table: RouteTable, changed?: ReadonlySet<string>): Upstream[] {
    this.#table = table;
    const replaced: LiveRoute[] = [];
    for (const host of changed ?? new Set([...this.#routes.keys(), ...table.keys()])) {
      const [before, route] = [this.#routes.get(host), table.get(host)];
      if (before?.route === route) continue;
      if (before !== undefined) replaced.push(before);
      if (route === undefined) this.#routes.delete(host);
      else if (before !== undefined || this.#sharesReplica(route)) this.#routes.set(host, this.#live(route));
    }
    // The new routes were counted first. Otherwise a replica of an old and of a new route would seem unused and close.
    for (const before of replaced) this.#count(before, -1);
    const left = new Set(replaced.flatMap(upstreamsOf).filter(({ routes }) => routes === 0));
    for (const upstream of left) {
      this.#upstreams.delete(upstream.key);
      // The upstream finishes its requests and gets no new ones.
      upstream.close();
    }
    return [...left];
  }

  /** Returns true if this edge already has connections to one of the route's replicas. */
  #sharesReplica({ target }: Route): boolean {
    return target.type === 'proxy' && target.replicas.some((replica) => this.#upstreams.has(upstreamKey(replica)));
  }

  #live(route: Route): LiveRoute {
    const { replicas, canary = null } = route.target.type === 'proxy' ? route.target : { replicas: [] };
    const traffic = this.#meter.of(route.serviceId);
    traffic.sleeps = route.sleeps;
    const upstreams = this.#connected(replicas);
    const live: LiveRoute = { route, allow: compileAllowList(route.allow), upstreams, traffic, canary: null };
    if (canary !== null) {
      const { deploymentId, percent } = canary;
      const countsOf = (side: 'new' | 'previous') => this.#meter.canaries.of(canaryKey(deploymentId, side));
      const sides = { new: countsOf('new'), previous: countsOf('previous') };
      live.canary = { deploymentId, percent, upstreams: this.#connected(canary.replicas), ...sides };
    }
    this.#count(live, 1);
    return live;
  }

  #count(live: LiveRoute, change: 1 | -1): void {
    const counts = [live.traffic, ...(live.canary === null ? [] : [live.canary.new, live.canary.previous])];
    for (const used of [...counts, ...upstreamsOf(live)]) used.routes += change;
  }

  #connected(replicas: readonly ReadyReplica[]): Upstream[] {
    return replicas.map((replica) => {
      const upstream = this.#upstreams.get(upstreamKey(replica)) ?? new Upstream(replica, this.#timeouts);
      this.#upstreams.set(upstream.key, upstream);
      return upstream;
    });
  }

  destroy(): void {
    for (const upstream of this.swap(new Map())) upstream.pool.destroy();
  }
}

function upstreamsOf({ upstreams, canary }: LiveRoute): Upstream[] {
  return [...upstreams, ...(canary?.upstreams ?? [])];
}
