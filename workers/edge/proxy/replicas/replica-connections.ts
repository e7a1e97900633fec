import type { Readable } from 'node:stream';
import { buildConnector, type Dispatcher, errors, Pool } from 'undici';
import type { ReadyReplica } from '../../../../shared/routing/store.js';
import { ownSocket } from '../containment.js';

/** The head of a request or a response may have at most this size. */
export const MAX_HEADER_BYTES = 32_768;
/** The edge closes idle connections earlier than most servers: a request on a closing connection would fail. */
const KEEP_ALIVE_MS = 1_500;
/** The edge closes idle connections this much earlier than the timeout that the replica states. */
const KEEP_ALIVE_MARGIN_MS = 2_000;
const MAX_KEEP_ALIVE_MS = 60_000;
const TCP_KEEP_ALIVE_MS = 60_000;
/** An upgrade gets less time than other responses, because the edge does not notice when the client disconnects. */
const UPGRADE_MS = 30_000;

export interface ReplicaTimes {
  connectMs: number;
  /** Timeout for the head of the response. */
  headersMs: number;
}

export interface ReplicaRequest {
  method: string;
  path: string;
  /** A flat list of names and values. */
  headers: string[];
  body: Readable | null;
  /** The protocol to which the client asked to upgrade; null for none. */
  upgrade: string | null;
}

/** The connections to one replica. undici's pool takes 20 KiB, so it is created only for the first request. */
export class ReplicaConnections {
  readonly #replica: ReadyReplica;
  readonly #times: ReplicaTimes;
  #pool: Pool | null = null;
  #closed = false;

  constructor(replica: ReadyReplica, times: ReplicaTimes) {
    this.#replica = replica;
    this.#times = times;
  }

  #open(): Pool {
    const { address, port } = this.#replica;
    const { connectMs, headersMs } = this.#times;
    const pool = new Pool(`http://${address.includes(':') ? `[${address}]` : address}:${port}`, {
      connect: connector(connectMs),
      pipelining: 1,
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: headersMs,
      // No timeout: a stream may be idle for hours. The kernel probes its connection.
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
      keepAliveMaxTimeout: MAX_KEEP_ALIVE_MS,
      clientTtl: MAX_KEEP_ALIVE_MS,
      allowH2: false,
    });
    if (this.#closed) void pool.close();
    return pool;
  }

  /** Sends a request at the end of this iteration of the event loop, when Node.js has noticed closed connections. */
  send({ method, path, headers, body, upgrade }: ReplicaRequest, handler: Dispatcher.DispatchHandler): void {
    const { headersMs } = this.#times;
    setImmediate(() => {
      this.#pool ??= this.#open();
      this.#pool.dispatch(
        {
          method,
          path,
          headers,
          body,
          upgrade,
          headersTimeout: upgrade === null ? headersMs : Math.min(UPGRADE_MS, headersMs),
          // Some servers send a body after HEAD, which would be read as the next response.
          reset: method === 'HEAD',
        },
        handler,
      );
    });
  }

  close(): void {
    this.#closed = true;
    void this.#pool?.close().catch(() => undefined);
  }

  destroy(): void {
    this.#closed = true;
    void this.#pool?.destroy(new errors.ClientDestroyedError('the edge ends')).catch(() => undefined);
  }
}

/** Returns undici's connector. An exception in a connection's events closes only this connection. */
function connector(timeoutMs: number): buildConnector.connector {
  const connect = buildConnector({ timeout: timeoutMs, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS });
  return (options, callback) =>
    connect(options, (...result) => {
      const [, socket] = result;
      if (socket) ownSocket(socket, () => socket.destroy());
      callback(...result);
    });
}
