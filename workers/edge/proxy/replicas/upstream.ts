import type { ReadyReplica } from '../../../../shared/routing/store.js';
import { Gauge } from '../work-gauge.js';
import { ReplicaConnections, type ReplicaTimes } from './replica-connections.js';

/** For this time after a replica refused a connection, all other replicas are tried before it. */
const AVOIDED_MS = 1_000;

/** Returns the name of a replica's upstream. A later replica may get the same port, so the id is part of it. */
export function upstreamKey({ id, address, port }: ReadyReplica): string {
  return `${id} ${address} ${port}`;
}

export class Upstream {
  readonly key: string;
  readonly pool: ReplicaConnections;
  /** Requests in progress. Event streams do not count, because they may never end. */
  readonly requests = new Gauge();
  routes = 0;
  #avoidedUntil = Number.NEGATIVE_INFINITY;

  constructor(replica: ReadyReplica, times: ReplicaTimes) {
    this.key = upstreamKey(replica);
    this.pool = new ReplicaConnections(replica, times);
  }

  /** No request may be sent afterwards. */
  close(): void {
    this.pool.close();
  }

  get avoided(): boolean {
    return this.#avoidedUntil > performance.now();
  }

  avoid(): void {
    this.#avoidedUntil = performance.now() + AVOIDED_MS;
  }
}

/** Returns the replica with the fewest requests. Replicas that recently refused a connection come last. */
export function choose(upstreams: readonly Upstream[], excluded: readonly Upstream[]): Upstream | null {
  if (upstreams.length === 1 && excluded.length === 0) return upstreams[0] ?? null;
  const candidates = upstreams.filter((upstream) => !excluded.includes(upstream));
  const willing = candidates.filter((upstream) => !upstream.avoided);
  const from = willing.length > 0 ? willing : candidates;
  let best: Upstream | null = null;
  // A random start spreads the load over equally busy replicas.
  const start = Math.floor(Math.random() * from.length);
  for (let i = 0; i < from.length; i++) {
    const upstream = from[(start + i) % from.length];
    if (upstream && (best === null || upstream.requests.value < best.requests.value)) best = upstream;
  }
  return best;
}
