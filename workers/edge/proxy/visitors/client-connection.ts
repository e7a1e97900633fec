import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { clientKey } from '../../../../shared/core/client-address.js';
import type { Containment } from '../containment.js';
import type { Client } from '../proxy-headers.js';

/**
 * A set of more than `CHEAP_LOOK` connections is examined at most once in this time, so that a flood costs little CPU
 * time.
 */
const MIN_REEXAMINATION_MS = 100;
const CHEAP_LOOK = 64;

/** The bytes of one direction of a connection: to the client for a response, to the replica for an upload. */
export interface Backlog {
  /** Bytes that the kernel has not accepted yet. */
  pending: number;
  /** Bytes that the kernel has accepted. */
  taken: number;
}

const NO_BACKLOG: Backlog = { pending: 0, taken: 0 };

/** Returns how many bytes were written to a socket and not yet accepted by the kernel. */
export function backlogOf(socket: Socket): Backlog {
  const pending = socket.writableLength;
  return { pending, taken: socket.bytesWritten - pending };
}

/** The `client` of a proxy's connection between requests, because only a request tells for which client it is. */
export const NO_CLIENT = 'proxy';

/** One connection of a client, and whether it makes progress. */
export class ClientConnection {
  readonly socket: Socket;
  /** The key under which connections of the same client are counted. */
  client: string;
  /** Unfinished requests on this connection. One is served at a time. */
  exchanges = 0;
  /** Each function starts a request that waits until the request in progress is finished. */
  readonly waiting: (() => void)[] = [];
  /** The connection's remote address; null behind a trusted proxy. */
  peer: Client | null = null;
  containment: Containment | null = null;
  /** The response of the request in progress. */
  answer: ServerResponse | null = null;
  /** When the last response was finished, or the connection was opened, in milliseconds of performance.now(). */
  idleSince = performance.now();
  /** Returns the backlog of what the client sends to the replica; null if the client sends nothing. */
  upload: (() => Backlog) | null = null;
  /** Since when the backlog has not shrunk, in milliseconds of performance.now(); null without a backlog. */
  slowSince: number | null = null;
  #sent = 0;
  #uploaded = 0;

  constructor(socket: Socket, client = clientKey(socket.remoteAddress)) {
    this.socket = socket;
    this.client = client;
  }

  /** True if the connection may be closed to make room for a new one. */
  get spare(): boolean {
    return this.slowSince !== null || this.exchanges === 0;
  }

  /** Updates `slowSince`: checks whether the client and the replica have read anything since the last call. */
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

/** A set of connections that chooses the one to close when there is no room for another. */
export class ConnectionSet extends Set<ClientConnection> {
  /** The connections that could be closed, the least useful last. */
  #spare: ClientConnection[] = [];
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** Returns the least useful connection; null if none may be closed. */
  leastUseful(now: number): ClientConnection | null {
    if (this.#spare.length === 0 && (this.size <= CHEAP_LOOK || now - this.#lookedAt >= MIN_REEXAMINATION_MS)) {
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

function byUse(a: ClientConnection, b: ClientConnection): number {
  if (a.slowSince !== null && b.slowSince !== null) return b.slowSince - a.slowSince;
  if (a.slowSince !== null || b.slowSince !== null) return a.slowSince === null ? -1 : 1;
  return b.idleSince - a.idleSince;
}

/**
 * Sorts connections, the least useful first. A connection's rank is the number of more useful connections of the same
 * client. Higher ranks come first. In a tie, the connection that has made no progress, or was idle, for longer comes
 * first.
 */
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
