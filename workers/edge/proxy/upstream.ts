import { isIPv6, type Socket } from 'node:net';
import type { ReadyReplica } from '../../../shared/routing/store.js';
import { Gauge } from './gauge.js';
import { buildConnector, Pool } from './undici.js';

export interface UpstreamTimeouts {
  connectMs: number;
  /** Time until the response's headers have arrived, in milliseconds. */
  headersMs: number;
}

/** For this time, a replica that refused a connection is tried only after all others. */
const AVOIDED_MS = 1_000;
/** Shorter than the time for which servers keep idle connections (2 s and more), so that the edge closes first. */
const KEEP_ALIVE_MS = 1_500;
export const MAX_HEADER_BYTES = 32_768;
/** The most bytes of an answer that are read ahead of a slow client. One read may exceed it by 64 KB. */
const READ_AHEAD_BYTES = 16_384;

/** One replica and the connections to it. */
export class Upstream {
  readonly address: string;
  readonly port: number;
  /** Requests in progress. Event streams are not counted, because they need not end. */
  readonly requests = new Gauge();
  readonly #timeouts: UpstreamTimeouts;
  readonly #faultListeners = new Set<(error: Error) => void>();
  #pool: Pool;
  #avoidedUntil = 0;

  constructor(replica: ReadyReplica, timeouts: UpstreamTimeouts) {
    this.address = replica.address;
    this.port = replica.port;
    this.#timeouts = timeouts;
    this.#pool = this.#newPool();
  }

  get headersMs(): number {
    return this.#timeouts.headersMs;
  }

  get pool(): Pool {
    return this.#pool;
  }

  /**
   * Calls the listener if the connections to the replica have failed without an error of the request. Returns a function that
   * removes the listener.
   */
  onFault(listener: (error: Error) => void): () => void {
    this.#faultListeners.add(listener);
    return () => this.#faultListeners.delete(listener);
  }

  /** Fails every request to this replica and opens new connections, because the state of the old ones is unknown. */
  fault(error: Error): void {
    const old = this.#pool;
    this.#pool = this.#newPool();
    for (const listener of [...this.#faultListeners]) listener(error);
    void old.destroy(error).catch(() => undefined);
  }

  /** Lets the requests in progress finish. No request may be sent afterwards. */
  close(): void {
    void this.#pool.close().catch(() => undefined);
  }

  #newPool(): Pool {
    const { address, port } = this;
    const options = { timeout: this.#timeouts.connectMs, highWaterMark: READ_AHEAD_BYTES };
    const connector = buildConnector(options);
    return new Pool(`http://${isIPv6(address) ? `[${address}]` : address}:${port}`, {
      pipelining: 1,
      connect: (endpoint, callback) =>
        connector(endpoint, (...result) => {
          if (result[0] === null) contain(result[1], (error) => this.fault(error));
          callback(...result);
        }),
      headersTimeout: this.#timeouts.headersMs,
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

/**
 * Catches what listeners of a socket throw. Undici asserts its own state in them, and a replica can make such an assertion
 * fail by what it sends and when. Then the socket and the requests to its replica end, not the process.
 */
function contain(socket: Socket, onFault: (error: Error) => void): void {
  const emit = socket.emit;
  socket.emit = (event: string | symbol, ...args: unknown[]) => {
    try {
      return Reflect.apply(emit, socket, [event, ...args.map(withoutReset)]);
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      socket.destroy(error);
      onFault(error);
      return true;
    }
  };
}

/**
 * Undici reads a reset connection as the end of an answer without a length, and fails an assertion if that answer is paused at
 * the time. Under another code the reset is an ordinary failure.
 */
function withoutReset(arg: unknown): unknown {
  if (!(arg instanceof Error && 'code' in arg && arg.code === 'ECONNRESET')) return arg;
  return Object.assign(new Error('the replica reset the connection'), { code: 'UPSTREAM_RESET' });
}

/** The replica with the fewest requests in progress. Those that refused a moment ago come last; excluded ones are never chosen. */
export function choose(upstreams: readonly Upstream[], excluded: ReadonlySet<Upstream>): Upstream | null {
  const candidates = upstreams.filter((upstream) => !excluded.has(upstream));
  const willing = candidates.filter((upstream) => !upstream.avoided);
  const from = willing.length > 0 ? willing : candidates;
  let best: Upstream | null = null;
  // A random start spreads the load over replicas that are equally busy.
  const start = Math.floor(Math.random() * from.length);
  for (let i = 0; i < from.length; i++) {
    const upstream = from[(start + i) % from.length];
    if (upstream && (best === null || upstream.requests.value < best.requests.value)) best = upstream;
  }
  return best;
}
