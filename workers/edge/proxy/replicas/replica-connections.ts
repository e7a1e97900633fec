import type { Readable } from 'node:stream';
import { buildConnector, type Dispatcher, errors, Pool } from 'undici';
import type { ReadyReplica } from '../../../../shared/routing/store.js';
import { ownSocket } from '../containment.js';

/** Maximum size of the head of a request or a response, in bytes. */
export const MAX_HEADER_BYTES = 32_768;
/**
 * How long the edge keeps an idle connection if the replica states no timeout, in milliseconds. It is short, because a
 * request on a connection that the replica is closing would fail, and most servers close idle connections later.
 */
const KEEP_ALIVE_MS = 1_500;
/**
 * If the replica states a timeout for idle connections, the edge closes them this much earlier, in milliseconds, but at
 * the latest after `MAX_KEEP_ALIVE_MS`.
 */
const KEEP_ALIVE_MARGIN_MS = 2_000;
const MAX_KEEP_ALIVE_MS = 60_000;
/** Idle time after which the kernel probes the replica, in milliseconds. */
const TCP_KEEP_ALIVE_MS = 60_000;
/**
 * Timeout for the response to an upgrade request, in milliseconds. Shorter than for other responses, because the edge
 * does not notice when the client disconnects meanwhile.
 */
const UPGRADE_MS = 30_000;

export interface ReplicaTimes {
  connectMs: number;
  /** Timeout for the head of the response, in milliseconds. */
  headersMs: number;
}

export interface ReplicaRequest {
  method: string;
  path: string;
  /** Names and values of headers, alternating, in one list. */
  headers: string[];
  body: Readable | null;
  /** The protocol to which the client asked to upgrade this connection; null for none. */
  upgrade: string | null;
}

/**
 * The connections to one replica. Each carries one request at a time. undici parses responses, and limits their
 * duration and the size of their headers. Its pool takes 20 KiB, so it is created only for the first request.
 */
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

  /**
   * Sends a request at the end of this iteration of the event loop. By then Node.js has read everything that had
   * arrived, so a connection that the replica has closed meanwhile is not used. If the pool is closed, the request
   * fails without having been sent.
   */
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
          // Some servers send a body after HEAD, which would be read as the next response, so the connection is not
          // reused.
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

  /** Closes every connection at once and aborts its requests. */
  destroy(): void {
    this.#closed = true;
    void this.#pool?.destroy(new errors.ClientDestroyedError('the edge ends')).catch(() => undefined);
  }
}

/** Returns a connector that contains exceptions in a connection's events: they close only this connection. */
function connector(timeoutMs: number): buildConnector.connector {
  const connect = buildConnector({ timeout: timeoutMs, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS });
  return (options, callback) =>
    connect(options, (...result) => {
      const [, socket] = result;
      if (socket) ownSocket(socket, () => socket.destroy());
      callback(...result);
    });
}
