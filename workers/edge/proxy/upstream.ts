import { isIPv6, type Socket } from 'node:net';
import { buildConnector, Pool } from 'undici';
import type { ReadyReplica } from '../../../shared/routing/store.js';
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
/** Of an answer whose client does not take it; one read may exceed it by 64 KB. */
const READ_AHEAD_BYTES = 16_384;

/** One replica and the connections to it. */
export class Upstream {
  readonly address: string;
  readonly port: number;
  /** Requests under way whose answers come to an end; event streams are taken out once they are known. */
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
   * Calls the listener if the connections to the replica have failed in a way that tells no request about it. Returns what
   * takes the listener away.
   */
  onFault(listener: (error: Error) => void): () => void {
    this.#faultListeners.add(listener);
    return () => this.#faultListeners.delete(listener);
  }

  /** Ends every request to this replica, and begins with new connections: the state of the old ones is not known. */
  fault(error: Error): void {
    const old = this.#pool;
    this.#pool = this.#newPool();
    for (const listener of [...this.#faultListeners]) listener(error);
    void old.destroy(error).catch(() => undefined);
  }

  /** Finishes the requests under way; no new one may follow. */
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
 * Keeps what listeners of a socket throw from reaching the process. Undici asserts its own state in them, and what a replica
 * sends, and when, can make an assertion fail: the socket and the requests to its replica end instead.
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
 * Undici takes a reset connection for the end of an answer whose length is not known, and fails an assertion if that answer
 * is held back at the time. A reset is a failure like any other, under another code.
 */
function withoutReset(arg: unknown): unknown {
  if (!(arg instanceof Error && 'code' in arg && arg.code === 'ECONNRESET')) return arg;
  return Object.assign(new Error('the replica reset the connection'), { code: 'UPSTREAM_RESET' });
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
