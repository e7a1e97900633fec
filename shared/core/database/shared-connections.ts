import type pg from 'pg';

/** Maximum number of shared connections. Each uses one PostgreSQL backend, and so at most one CPU core. */
const LANES = 2;

interface Lane {
  connection: Promise<pg.Client>;
  /** Number of reads now running on this connection. */
  users: number;
  /** True if a read failed, in which case the connection may be lost. */
  hasFailed: boolean;
}

/** The part of knex's client that acquires and releases pooled connections. */
interface Pool {
  acquireConnection(): Promise<pg.Client>;
  releaseConnection(connection: pg.Client): Promise<void>;
}

/**
 * Lets many short reads share a connection. Each is sent immediately, and PostgreSQL processes them in order. Under
 * load this saves the process and PostgreSQL most of their system calls, and avoids most of the pool's work. Unused
 * connections return to the pool. The pool must create its connections with `pipeline: true`.
 */
export class SharedConnections {
  readonly #pool: Pool;
  readonly #lanes: Lane[] = [];

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Runs a read. Rejects with the error of `read`, or if no connection is available. */
  async use<T>(read: (connection: pg.Client) => Promise<T>): Promise<T> {
    const lane = this.#lane();
    lane.users += 1;
    try {
      return await read(await lane.connection);
    } catch (error) {
      lane.hasFailed = true;
      this.#close(lane);
      throw error;
    } finally {
      lane.users -= 1;
      if (lane.users === 0) this.#release(lane);
    }
  }

  /** Returns a new connection while fewer than `LANES` are open, otherwise the one with the fewest reads. */
  #lane(): Lane {
    const [first, ...others] = this.#lanes;
    if (this.#lanes.length < LANES || !first) {
      const lane = { connection: this.#pool.acquireConnection(), users: 0, hasFailed: false };
      this.#lanes.push(lane);
      return lane;
    }
    return others.reduce((least, lane) => (lane.users < least.users ? lane : least), first);
  }

  #close(lane: Lane): void {
    const index = this.#lanes.indexOf(lane);
    if (index >= 0) this.#lanes.splice(index, 1);
  }

  #release(lane: Lane): void {
    this.#close(lane);
    lane.connection.then(
      async (connection) => {
        // A lost connection emits `error` before `end`. Until `end` the pool would reuse it, so it is closed here.
        if (lane.hasFailed) await connection.end();
        await this.#pool.releaseConnection(connection);
      },
      // Nothing to report: the reads on this connection have already failed with this error.
      () => undefined,
    );
  }
}
