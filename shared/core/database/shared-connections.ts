import type pg from 'pg';

const LANES = 2;

interface Lane {
  connection: Promise<pg.Client>;
  users: number;
  hasFailed: boolean;
}

interface Pool {
  acquireConnection(): Promise<pg.Client>;
  releaseConnection(connection: pg.Client): Promise<void>;
}

/**
 * Lets many short reads share a connection, which saves most system calls and pool work under load. The pool must
 * create its connections with `pipeline: true`.
 */
export class SharedConnections {
  readonly #pool: Pool;
  readonly #lanes: Lane[] = [];

  constructor(pool: Pool) {
    this.#pool = pool;
  }

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
        // A lost connection emits `error` first and `end` later. In between, the pool would hand the connection out
        // again.
        if (lane.hasFailed) await connection.end();
        await this.#pool.releaseConnection(connection);
      },
      // The reads on this connection have already failed with this error.
      () => undefined,
    );
  }
}
