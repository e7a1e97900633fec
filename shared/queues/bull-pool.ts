import { createHash } from 'node:crypto';
import { type BackendFactory, PostgresConnection, PostgresQueueBackend, runMigrations } from 'bullmq';
import pg from 'pg';
import { LASTING_CONNECTION } from '../core/database/database-client.js';
import { runPrepared } from '../core/database/prepared-query.js';
import { JOBS_CHANNEL, JobTurns, type ListenClient } from './job-turns.js';

/** PostgreSQL error codes: deadlock, serialization failure, and changed result columns of a prepared statement. */
const AGAIN = new Set(['40P01', '40001', '0A000']);
const RETRIES = 8;

/**
 * The connection pool of BullMQ's PostgreSQL backend. Each command is a transaction of its own. Under load some
 * commands deadlock, so an aborted command is sent again.
 */
export class BullPool {
  readonly #pool: pg.Pool;
  /** SQL text → the name of its prepared statement, about sixty in all. */
  readonly #names = new Map<string, string>();
  /** BullMQ reads from the options whether connections use TCP keepalive. */
  readonly options: pg.PoolConfig;

  constructor(url: string, name: string, max: number) {
    this.options = {
      connectionString: url,
      ...LASTING_CONNECTION,
      application_name: name,
      max,
      // Workers share one listening connection, on which their commands may be sent concurrently.
      pipeline: true,
      // If a database crash loses the newest jobs, the dispatcher creates them again from other tables, so queue
      // commands need not wait for the disk.
      options: '-c search_path=bullmq -c synchronous_commit=off',
    };
    this.#pool = new pg.Pool(this.options);
    // Every queue and worker adds its own listeners, so Node.js must not warn about their number.
    this.#pool.setMaxListeners(0);
    this.#pool.on('connect', (client) => client.setMaxListeners(0));
  }

  async query(text: string, params: readonly unknown[] = []): Promise<pg.QueryResult> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#run(text, params);
      } catch (error) {
        const { code = '' } = error as { code?: string };
        if (!AGAIN.has(code) || attempt >= RETRIES) throw error;
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 10 * (attempt + 1)));
      }
    }
  }

  announceDelayed(): Promise<pg.QueryResult> {
    return this.query(
      `select pg_notify('${JOBS_CHANNEL}', queue)
         from (select distinct queue from job where state = 'delayed' and process_at_ms <= $1) due`,
      [Date.now()],
    );
  }

  connect(): Promise<pg.PoolClient> {
    return this.#pool.connect();
  }

  end(): Promise<void> {
    return this.#pool.end();
  }

  on(event: 'error', listener: (error: Error) => void): this;
  on(event: 'connect', listener: (client: pg.PoolClient) => void): this;
  on(event: string, listener: (...args: never[]) => void): this {
    this.#pool.on(event as 'error', listener as () => void);
    return this;
  }

  removeAllListeners(event?: string): this {
    this.#pool.removeAllListeners(event);
    return this;
  }

  async #run(text: string, params: readonly unknown[]): Promise<pg.QueryResult> {
    // Commands without parameters may contain several statements, which cannot be prepared.
    if (params.length === 0) return this.#pool.query(text);
    const client = await this.#pool.connect();
    // The pool does not listen for errors of a connection in use, and an 'error' event without a listener would
    // terminate the process. The command itself fails with this error.
    client.on('error', ignore);
    try {
      const rows = await runPrepared<pg.QueryResultRow>(client, { name: this.#nameOf(text), text }, params);
      client.off('error', ignore);
      client.release();
      return { rows } as pg.QueryResult;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  #nameOf(text: string): string {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    const name = `bullmq_${createHash('sha256').update(text).digest('hex').slice(0, 20)}`;
    this.#names.set(text, name);
    return name;
  }
}

const ignore = (): void => undefined;

/**
 * Lets all workers of a process listen on one connection. PostgreSQL wakes every listening connection for each
 * notification, and waking ten costs more than the command that sends the notification.
 */
class SharedListening extends PostgresConnection {
  readonly #listener: PostgresConnection;
  readonly #turns: JobTurns;

  constructor(pool: BullPool, listener: PostgresConnection, turns: JobTurns) {
    super(pool);
    this.#listener = listener;
    this.#turns = turns;
    listener.on('listenerinvalidated', () => this.emit('listenerinvalidated'));
  }

  override async getListenClient(): Promise<ListenClient> {
    return this.#turns.of(await this.#listener.getListenClient());
  }

  override setListenClientName(name: string): Promise<void> {
    return this.#listener.setListenClientName(name);
  }
}

export interface BullBackend {
  create: BackendFactory<PostgresQueueBackend, BullPool>;
  shareWith(workers: number): void;
  close(): Promise<void>;
}

export function bullBackend(pool: BullPool): BullBackend {
  const listener = new PostgresConnection(pool).setMaxListeners(0);
  const turns = new JobTurns();
  const listensAs = `${pool.options.application_name}${LISTENER}`;
  return {
    create: (name, opts, { withBlockingConnection = false } = {}) => {
      const connection = new SharedListening(pool, listener, turns);
      return new PostgresQueueBackend(connection, name, opts, true, withBlockingConnection ? listensAs : undefined);
    },
    shareWith: (workers) => turns.shareWith(workers),
    async close() {
      turns.close();
      await listener.close();
    },
  };
}

/** Suffix of the `application_name` of connections that listen for new jobs. */
export const LISTENER = '-listener';

/** Migrates BullMQ's own schema (`bullmq`) to the package's version. Concurrent calls are safe. */
export async function migrateQueues(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, application_name: 'ranvier-migrate' });
  await client.connect();
  try {
    await runMigrations(client);
  } finally {
    await client.end();
  }
}
