import pg from 'pg';
import { loadMigrator } from './bullmq.js';

const DEADLOCK = '40P01';
const SERIALIZATION = '40001';
const RETRIES = 8;

/**
 * The pool that BullMQ's PostgreSQL backend is given. Its statements are single auto-committed commands, and some of
 * them deadlock under load, so an aborted one is sent again.
 */
export class BullPool {
  readonly #pool: pg.Pool;
  readonly options: pg.PoolConfig;

  constructor(url: string, name: string, max: number) {
    this.#pool = new pg.Pool({
      connectionString: url,
      application_name: name,
      keepAlive: true,
      max,
      connectionTimeoutMillis: 10_000,
      // A job is a wake-up for a record. If a crash of the database loses the newest ones, they are made again from the
      // records, so no command of the queue waits for the disk.
      options: '-c search_path=bullmq -c synchronous_commit=off',
    });
    // Every queue and worker adds its own listener.
    this.#pool.setMaxListeners(0);
    this.options = (this.#pool as unknown as { options: pg.PoolConfig }).options;
  }

  async query(text: string, params?: unknown[]): Promise<pg.QueryResult> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#pool.query(text, params);
      } catch (error) {
        const code = (error as { code?: string }).code;
        if ((code !== DEADLOCK && code !== SERIALIZATION) || attempt >= RETRIES) throw error;
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 10 * (attempt + 1)));
      }
    }
  }

  connect(): Promise<pg.PoolClient> {
    return this.#pool.connect();
  }

  end(): Promise<void> {
    return this.#pool.end();
  }

  on(event: 'error', listener: (error: Error) => void): this {
    this.#pool.on(event, listener);
    return this;
  }

  removeAllListeners(event?: string): this {
    this.#pool.removeAllListeners(event);
    return this;
  }
}

/** Brings BullMQ's own schema (`bullmq`) to the version of the package. Safe by several at once: it locks. */
export async function migrateQueues(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, application_name: 'ranvier-migrate' });
  await client.connect();
  try {
    await loadMigrator().runMigrations(client);
  } finally {
    await client.end();
  }
}
