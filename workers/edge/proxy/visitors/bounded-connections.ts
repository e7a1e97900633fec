import type { Socket } from 'node:net';
import type { EdgeCounters } from '../containment.js';
import { ClientConnection, ConnectionSet, inOrderOfUse, NO_CLIENT } from './client-connection.js';

export interface ConnectionLimits {
  /** A client is an IPv4 address or an IPv6 /64. */
  perClient: number;
  total: number;
  /** Maximum number of connections with bytes that the client or the replica has not read for a second. */
  slow: number;
  /** How long a slow connection may make no progress before it is closed, in milliseconds. */
  stallMs: number;
}

const POLL_INTERVAL_MS = 250;
const SLOW_AFTER_MS = 1_000;
/**
 * The limit of connections that make no progress, as a multiple of `slow`. It stops a flood of connections that do not
 * count as slow yet.
 */
const PAUSING_PER_SLOW = 2;
/** How long a refused client has to read the reason. */
const REFUSED_MS = 1_000;
const MAX_REFUSED = 256;
const REFUSAL = 'HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

/**
 * The connections of clients, limited per client and in total. When a limit is reached, a new connection replaces one
 * that makes no progress or is idle: the first in `inOrderOfUse`. If all connections are in use and make progress, the
 * new one is refused.
 */
export class Connections {
  readonly #behindProxy: boolean;
  readonly #limits: ConnectionLimits;
  readonly #counters: EdgeCounters;
  readonly #shares = new Map<string, ConnectionSet>();
  readonly #all = new ConnectionSet();
  readonly #bySocket = new WeakMap<Socket, ClientConnection>();
  readonly #timer: NodeJS.Timeout;
  #refused = 0;

  /** Behind a proxy, a connection counts for a client only once `carry` has named the client. */
  constructor(limits: ConnectionLimits, counters: EdgeCounters, behindProxy: boolean) {
    this.#behindProxy = behindProxy;
    this.#limits = limits;
    this.#counters = counters;
    this.#timer = setInterval(() => this.#look(), POLL_INTERVAL_MS).unref();
  }

  get size(): number {
    return this.#all.size;
  }

  of(socket: Socket): ClientConnection | undefined {
    return this.#bySocket.get(socket);
  }

  admit(socket: Socket): boolean {
    const connection = new ClientConnection(socket, this.#behindProxy ? NO_CLIENT : undefined);
    const room = this.#hasRoom(connection.client) && (this.#all.size < this.#limits.total || this.#makeRoom(this.#all));
    if (!room) {
      this.#refuse(socket);
      return false;
    }
    this.#count(connection, connection.client);
    this.#all.add(connection);
    this.#bySocket.set(socket, connection);
    socket.once('close', () => this.#forget(connection));
    return true;
  }

  /**
   * Counts a proxy's connection for the client of its request. Returns false if the client has too many connections.
   */
  carry(connection: ClientConnection, client: string): boolean {
    if (!this.#hasRoom(client)) return false;
    this.#uncount(connection);
    this.#count(connection, client);
    return true;
  }

  /** Must be called when a proxy's connection waits for its next request. */
  release(connection: ClientConnection): void {
    if (!this.#all.has(connection)) return;
    this.#uncount(connection);
    this.#count(connection, NO_CLIENT);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #shareOf(client: string): ConnectionSet {
    return this.#shares.get(client) ?? new ConnectionSet();
  }

  #hasRoom(client: string): boolean {
    const share = this.#shareOf(client);
    return client === NO_CLIENT || share.size < this.#limits.perClient || this.#makeRoom(share);
  }

  #count(connection: ClientConnection, client: string): void {
    const share = this.#shareOf(client);
    connection.client = client;
    share.add(connection);
    this.#shares.set(client, share);
  }

  #uncount(connection: ClientConnection): void {
    const share = this.#shares.get(connection.client);
    share?.delete(connection);
    if (share?.size === 0) this.#shares.delete(connection.client);
  }

  #forget(connection: ClientConnection): void {
    this.#all.delete(connection);
    this.#uncount(connection);
  }

  #makeRoom(among: ConnectionSet): boolean {
    const least = among.leastUseful(performance.now());
    if (least !== null) this.#end(least);
    return least !== null;
  }

  #look(): void {
    const now = performance.now();
    const standing = (ms: number) => (connection: ClientConnection) =>
      connection.slowSince !== null && now - connection.slowSince >= ms;
    for (const connection of this.#all) connection.look(now);
    const pausing = [...this.#all].filter(standing(POLL_INTERVAL_MS / 2));
    for (const connection of pausing.filter(standing(this.#limits.stallMs))) this.#end(connection);
    const { slow } = this.#limits;
    this.#endExcess(pausing.filter(standing(SLOW_AFTER_MS)), slow);
    this.#endExcess(pausing, slow * PAUSING_PER_SLOW);
  }

  #endExcess(connections: readonly ClientConnection[], limit: number): void {
    const open = connections.filter((connection) => this.#all.has(connection));
    const excess = open.length - limit;
    if (excess > 0) for (const connection of inOrderOfUse(open).slice(0, excess)) this.#end(connection);
  }

  /** Without a reset, the kernel would keep the unread bytes for minutes. */
  #end(connection: ClientConnection): void {
    this.#counters.closedConnections += 1;
    this.#forget(connection);
    const { socket } = connection;
    // A Unix socket cannot be reset, and buffers nothing once it is closed.
    if (socket.remoteFamily === undefined) socket.destroy();
    else socket.resetAndDestroy();
  }

  #refuse(socket: Socket): void {
    this.#counters.refusedConnections += 1;
    socket.on('error', () => socket.destroy());
    if (this.#refused >= MAX_REFUSED) {
      socket.destroy();
      return;
    }
    this.#refused += 1;
    const timer = setTimeout(() => socket.destroy(), REFUSED_MS);
    socket.once('close', () => {
      this.#refused -= 1;
      clearTimeout(timer);
    });
    // Closing a connection with unread bytes resets it, and the client would lose the response.
    socket.resume();
    socket.end(REFUSAL);
  }
}
