import type pg from 'pg';

/** Connections that are shared at once. One backend of PostgreSQL uses one processor. */
const LANES = 2;

interface Lane {
  connection: Promise<pg.Client>;
  /** Users that have not ended. */
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
 * Lets many short reads use one connection at the same time. Each is sent at once, and PostgreSQL answers them in turn. Under load
 * that saves both sides most of their system calls, and the pool its work. Without users the connection returns to the pool. The
 * pool's connections have to be made with `pipeline: true`.
 */
export class SharedConnections {
  readonly #pool: Pool;
  readonly #lanes: Lane[] = [];

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Rejects with what `read` rejects with, or if no connection can be had. */
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

  /** Returns a lane without users, or a new one, or the one with the fewest users. */
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
        // The error of a lost connection comes before its end, and the pool hands out a connection that has not ended.
        if (lane.hasFailed) await connection.end();
        await this.#pool.releaseConnection(connection);
      },
      // Its users have got the error.
      () => undefined,
    );
  }
}
