import type { ReadyReplica } from '../../../shared/routing/store.js';
import {
  type ConnectionOwner,
  type ConnectionTimes,
  ReplicaConnection,
  type ReplicaRequest,
} from './replica-connection.js';

/** How often connections are looked at that have waited for too long. */
const LOOK_MS = 250;

/**
 * The connections to one replica. A request takes one that is idle, or opens another. Requests go out at the end of a turn of the
 * event loop, when all that has arrived in the turn is read: a connection that its replica has closed, or on which it has sent what
 * nobody asked for, is not used then.
 */
export class ReplicaPool implements ConnectionOwner {
  readonly #replica: ReadyReplica;
  readonly #times: ConnectionTimes;
  readonly #connections = new Set<ReplicaConnection>();
  readonly #idle: ReplicaConnection[] = [];
  /** Connections whose answers ended in this turn. They are idle from the next one on. */
  #freed: ReplicaConnection[] = [];
  #waiting: ReplicaRequest[] = [];
  #scheduled = false;
  #closed = false;

  constructor(replica: ReadyReplica, times: ConnectionTimes) {
    this.#replica = replica;
    this.#times = times;
  }

  /** Sends a request. It fails without having been sent if the pool is closed. */
  send(request: ReplicaRequest): void {
    if (this.#closed) {
      request.onFail(new Error('the replica has left the route'));
      return;
    }
    this.#waiting.push(request);
    this.#schedule();
  }

  /** Takes a request back that was not sent yet. */
  withdraw(request: ReplicaRequest): void {
    this.#waiting = this.#waiting.filter((other) => other !== request);
  }

  /** Lets the requests in progress finish. */
  close(): void {
    this.#closed = true;
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  /** Ends every connection, whatever is under way on it. */
  destroy(): void {
    this.close();
    for (const connection of [...this.#connections]) connection.fail(new Error('the edge ends'));
  }

  free(connection: ReplicaConnection): void {
    this.#freed.push(connection);
    this.#schedule();
  }

  gone(connection: ReplicaConnection): void {
    this.#connections.delete(connection);
    if (this.#connections.size === 0) pools.delete(this);
  }

  look(now: number): void {
    for (const connection of this.#connections) connection.look(now);
    // Those that were looked at first are the longest idle.
    while (this.#idle[0]?.usable === false) this.#idle.shift();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#turn);
  }

  readonly #turn = (): void => {
    this.#scheduled = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const request of waiting) {
      const connection = request.asked.upgrade ? null : this.#takeIdle();
      if (connection === null) this.#open(request);
      else connection.send(request);
    }
    const freed = this.#freed;
    this.#freed = [];
    for (const connection of freed) {
      if (this.#closed) connection.destroy();
      else this.#idle.push(connection);
    }
  };

  #takeIdle(): ReplicaConnection | null {
    for (let last = this.#idle.pop(); last !== undefined; last = this.#idle.pop()) {
      if (last.usable) return last;
      last.destroy();
    }
    return null;
  }

  #open(request: ReplicaRequest): void {
    pools.add(this);
    watch();
    const { address, port } = this.#replica;
    try {
      this.#connections.add(new ReplicaConnection(address, port, this.#times, this, request));
    } catch (error) {
      request.onFail(error instanceof Error ? error : new Error(String(error)));
    }
  }
}

/** The pools that have connections. */
const pools = new Set<ReplicaPool>();
let timer: NodeJS.Timeout | null = null;

/** One timer for all connections, for as long as there are any. */
function watch(): void {
  timer ??= setInterval(() => {
    // After what has arrived is read, because the event loop itself may have been late.
    setImmediate(look);
  }, LOOK_MS).unref();
}

function look(): void {
  const now = performance.now();
  for (const pool of pools) pool.look(now);
  if (pools.size > 0 || timer === null) return;
  clearInterval(timer);
  timer = null;
}
