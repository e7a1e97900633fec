import type { Socket } from 'node:net';
import { clientKey } from '../../../shared/core/client-address.js';

/** How long more than so many connections are not looked through again, so that a flood of new ones stays cheap. */
const LOOK_AGAIN_MS = 100;
const CHEAP_LOOK = 64;

/** Bytes that wait to be taken by one side. */
export interface Backlog {
  pending: number;
  /** Grows with each byte that was taken. */
  taken: number;
}

const NO_BACKLOG: Backlog = { pending: 0, taken: 0 };

/** The bytes that were written to a socket and that the kernel has not taken yet. */
export function backlogOf(socket: Socket): Backlog {
  const pending = socket.writableLength;
  return { pending, taken: socket.bytesWritten - pending };
}

/** Whose connection it is that a proxy in front keeps over a Unix socket: nobody's, until it carries a request. */
export const NO_CLIENT = 'proxy';

/** One connection of a client, with what tells whether it makes progress. */
export class ClientConnection {
  readonly socket: Socket;
  /** The name of the client, as limits count it. */
  client: string;
  /** Requests on it whose exchanges have not ended; one is served at a time. */
  exchanges = 0;
  /** Resolves when all requests before the next one are answered. */
  turn: Promise<void> = Promise.resolve();
  /** When an exchange ended last, or the connection began. */
  idleSince = performance.now();
  /** What the client sends and the replica has not taken. */
  upload: (() => Backlog) | null = null;
  /** Since when nothing of a backlog was taken; null without a backlog. */
  slowSince: number | null = null;
  #sent = 0;
  #uploaded = 0;

  constructor(socket: Socket, client = clientKey(socket.remoteAddress)) {
    this.socket = socket;
    this.client = client;
  }

  /** Whether another connection may take its place. */
  get spare(): boolean {
    return this.slowSince !== null || this.exchanges === 0;
  }

  /** Takes note of what was taken since the last look. */
  look(now: number): void {
    const sent = backlogOf(this.socket);
    const uploaded = this.upload?.() ?? NO_BACKLOG;
    const stands =
      (sent.pending > 0 && sent.taken === this.#sent) || (uploaded.pending > 0 && uploaded.taken === this.#uploaded);
    if (sent.pending === 0 && uploaded.pending === 0) this.slowSince = null;
    else if (!stands || this.slowSince === null) this.slowSince = now;
    this.#sent = sent.taken;
    this.#uploaded = uploaded.taken;
  }
}

/** A set of connections that finds the one whose place may best be taken. */
export class ConnectionSet {
  readonly #connections = new Set<ClientConnection>();
  /** Those that may be ended as of the last look, the least useful last. */
  #spare: ClientConnection[] = [];
  #lookedAt = Number.NEGATIVE_INFINITY;

  get size(): number {
    return this.#connections.size;
  }

  add(connection: ClientConnection): void {
    this.#connections.add(connection);
  }

  delete(connection: ClientConnection): void {
    this.#connections.delete(connection);
  }

  has(connection: ClientConnection): boolean {
    return this.#connections.has(connection);
  }

  [Symbol.iterator](): IterableIterator<ClientConnection> {
    return this.#connections.values();
  }

  /**
   * Of the clients with the most spare connections: the one that waits longest for its other side, else the one that is idle
   * longest. Null if all are in use.
   */
  leastUseful(now: number): ClientConnection | null {
    if (this.#spare.length === 0 && (this.size <= CHEAP_LOOK || now - this.#lookedAt >= LOOK_AGAIN_MS)) {
      this.#lookedAt = now;
      for (const connection of this) connection.look(now);
      this.#spare = inOrderOfUse([...this].filter((connection) => connection.spare)).reverse();
    }
    for (let last = this.#spare.pop(); last !== undefined; last = this.#spare.pop()) {
      if (this.has(last) && last.spare) return last;
    }
    return null;
  }
}

/** The most useful first. */
function byUse(a: ClientConnection, b: ClientConnection): number {
  if (a.slowSince !== null && b.slowSince !== null) return b.slowSince - a.slowSince;
  if (a.slowSince !== null || b.slowSince !== null) return a.slowSince === null ? -1 : 1;
  return b.idleSince - a.idleSince;
}

/** The least useful first: those of the client that has most of them, and of one client those without progress for longest. */
export function inOrderOfUse(connections: readonly ClientConnection[]): ClientConnection[] {
  const counts = new Map<string, number>();
  const ranked = [...connections].sort(byUse).map((connection) => {
    const rank = counts.get(connection.client) ?? 0;
    counts.set(connection.client, rank + 1);
    return { connection, rank };
  });
  ranked.sort((a, b) => b.rank - a.rank || byUse(b.connection, a.connection));
  return ranked.map(({ connection }) => connection);
}
