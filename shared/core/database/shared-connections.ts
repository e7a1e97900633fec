import type pg from 'pg';

/** The most connections that are shared at once. Each uses one backend of PostgreSQL, and so at most one processor. */
const LANES = 2;

interface Lane {
  connection: Promise<pg.Client>;
  /** How many reads are running on this connection. */
  users: number;
  /** True if a read has failed: the connection may be lost. */
  hasFailed: boolean;
}

/** The part of knex's client that hands out the connections of its pool. */
interface Pool {
  acquireConnection(): Promise<pg.Client>;
  releaseConnection(connection: pg.Client): Promise<void>;
}

/**
 * Lets many short reads use one connection at the same time. Each is sent at once, and PostgreSQL answers them in
 * order. Under load this saves both sides most of their system calls, and the pool its work. An unused connection
 * returns to the pool. The pool's connections must be made with `pipeline: true`.
 */
export class SharedConnections {
  readonly #pool: Pool;
  readonly #lanes: Lane[] = [];

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Runs a read. Rejects as `read` does, or if no connection is available. */
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

  /** Returns an unused shared connection, otherwise a new one, otherwise the one with the fewest running reads. */
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
        // A lost connection reports its error before its end. The pool would reuse it until then, so it is ended here.
        if (lane.hasFailed) await connection.end();
        await this.#pool.releaseConnection(connection);
      },
      // Nothing to report: the reads on this connection have already got the error.
      () => undefined,
    );
  }
}
