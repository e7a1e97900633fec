import { isIPv6 } from 'node:net';
import { Pool } from 'undici';
import type { ReadyReplica } from '../../../shared/db/edge.js';
import { Gauge } from './gauge.js';

export interface UpstreamTimeouts {
  connectMs: number;
  /** Until the response's headers are there. */
  headersMs: number;
}

/** How long a replica that refused a connection is asked only after all others. */
const AVOIDED_MS = 1_000;
/** Shorter than what servers commonly keep idle connections for (2 s and more), so that we close first. */
const KEEP_ALIVE_MS = 1_500;
export const MAX_HEADER_BYTES = 32_768;

/** One replica and the connections to it. */
export class Upstream {
  readonly address: string;
  readonly port: number;
  readonly pool: Pool;
  /** Requests under way whose answers come to an end; event streams are taken out once they are known. */
  readonly requests = new Gauge();
  #avoidedUntil = 0;

  constructor(replica: ReadyReplica, timeouts: UpstreamTimeouts) {
    this.address = replica.address;
    this.port = replica.port;
    const host = isIPv6(replica.address) ? `[${replica.address}]` : replica.address;
    this.pool = new Pool(`http://${host}:${replica.port}`, {
      pipelining: 1,
      connect: { timeout: timeouts.connectMs },
      headersTimeout: timeouts.headersMs,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
    });
  }

  get avoided(): boolean {
    return this.#avoidedUntil > performance.now();
  }

  avoid(): void {
    this.#avoidedUntil = performance.now() + AVOIDED_MS;
  }
}

/** The replica with the fewest requests under way; those that just refused come last, those excluded never. */
export function choose(upstreams: readonly Upstream[], excluded: ReadonlySet<Upstream>): Upstream | null {
  const candidates = upstreams.filter((upstream) => !excluded.has(upstream));
  const willing = candidates.filter((upstream) => !upstream.avoided);
  const from = willing.length > 0 ? willing : candidates;
  let best: Upstream | null = null;
  // A random start spreads the load where all are equally busy.
  const start = Math.floor(Math.random() * from.length);
  for (let i = 0; i < from.length; i++) {
    const upstream = from[(start + i) % from.length];
    if (upstream && (best === null || upstream.requests.value < best.requests.value)) best = upstream;
  }
  return best;
}
