import type { Readable } from 'node:stream';
import { buildConnector, type Dispatcher, errors, Pool } from 'undici';
import type { ReadyReplica } from '../../../../shared/routing/store.js';
import { ownSocket } from '../containment.js';

/** The largest head of a request or an answer, in bytes. */
export const MAX_HEADER_BYTES = 32_768;
/** How long an idle connection is kept if the replica names no time. Servers keep theirs for 2 s or more. */
const KEEP_ALIVE_MS = 1_500;
/** The edge closes an idle connection this much earlier than the replica would, and after a minute at the latest. */
const KEEP_ALIVE_MARGIN_MS = 2_000;
const MAX_KEEP_ALIVE_MS = 60_000;
/** After this time without a byte the kernel probes the replica. */
const TCP_KEEP_ALIVE_MS = 60_000;
/**
 * Timeout for the answer to a request for another protocol, in milliseconds. Shorter than for other answers, because
 * the edge does not notice a client that leaves meanwhile.
 */
const UPGRADE_MS = 30_000;

export interface ReplicaTimes {
  connectMs: number;
  /** Time until the head of the answer has arrived, in milliseconds. */
  headersMs: number;
}

export interface ReplicaRequest {
  method: string;
  path: string;
  /** A flat list of names and values. */
  headers: string[];
  body: Readable | null;
  /** The protocol that the client asked for on this connection; null if none. */
  upgrade: string | null;
}

/**
 * The connections to one replica, each with one request at a time. undici parses the answers and bounds their heads and
 * times.
 */
export class ReplicaConnections {
  readonly #pool: Pool;
  readonly #headersMs: number;

  constructor({ address, port }: ReadyReplica, { connectMs, headersMs }: ReplicaTimes) {
    this.#headersMs = headersMs;
    this.#pool = new Pool(`http://${address.includes(':') ? `[${address}]` : address}:${port}`, {
      connect: connector(connectMs),
      pipelining: 1,
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: headersMs,
      // No timeout: a stream may be quiet for hours. The kernel probes its connection.
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
      keepAliveMaxTimeout: MAX_KEEP_ALIVE_MS,
      clientTtl: MAX_KEEP_ALIVE_MS,
      allowH2: false,
    });
  }

  /**
   * Sends a request at the end of this turn of the event loop. By then the loop has read everything that had arrived,
   * so a connection that the replica has closed meanwhile is not used. If the pool is closed, the request fails without
   * having been sent.
   */
  send({ method, path, headers, body, upgrade }: ReplicaRequest, handler: Dispatcher.DispatchHandler): void {
    setImmediate(() => {
      this.#pool.dispatch(
        {
          method,
          path,
          headers,
          body,
          upgrade,
          headersTimeout: upgrade === null ? this.#headersMs : Math.min(UPGRADE_MS, this.#headersMs),
          // Some servers send a body after HEAD, which would be read as the next answer, so the connection is not used
          // again.
          reset: method === 'HEAD',
        },
        handler,
      );
    });
  }

  close(): void {
    void this.#pool.close().catch(() => undefined);
  }

  /** Ends every connection at once, with its requests. */
  destroy(): void {
    void this.#pool.destroy(new errors.ClientDestroyedError('the edge ends')).catch(() => undefined);
  }
}

/** Contains an exception in a connection's event: it ends this connection, and not the edge. */
function connector(timeoutMs: number): buildConnector.connector {
  const connect = buildConnector({ timeout: timeoutMs, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS });
  return (options, callback) =>
    connect(options, (...result) => {
      const [, socket] = result;
      if (socket) ownSocket(socket, () => socket.destroy());
      callback(...result);
    });
}
