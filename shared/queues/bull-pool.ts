import { createHash } from 'node:crypto';
import pg from 'pg';
import { runPrepared } from '../core/database/prepared-query.js';
import { loadMigrator } from './bullmq.js';
import { type QueueClient, SharedListener } from './shared-listener.js';

/** SQLSTATEs after which the same command is sent again: deadlock, serialization, and a statement whose columns have changed. */
const AGAIN = new Set(['40P01', '40001', '0A000']);
const RETRIES = 8;
/** The command of BullMQ that gives the jobs of dead workers back. */
const STALLED_CHECK = 'move_stalled_jobs_to_wait(';
const BUSY_QUEUES = `select distinct queue from job where state = 'active'`;
/** For so long the queues share one answer, in milliseconds. A job whose worker died waits for the end of its lock anyway. */
const SHARED_MS = 500;

/**
 * The pool that BullMQ's PostgreSQL backend is given. Its statements are single auto-committed commands, and some of
 * them deadlock under load, so an aborted one is sent again. Each connection prepares a command once. All workers of the
 * process listen on one connection.
 */
export class BullPool {
  readonly #pool: pg.Pool;
  readonly #listener: SharedListener;
  /** The names of the commands, which are some sixty texts. */
  readonly #names = new Map<string, string>();
  readonly options: pg.PoolConfig;
  #busy: { asked: number; queues: Promise<ReadonlySet<string>> } | null = null;

  constructor(url: string, name: string, max: number) {
    const connection = { connectionString: url, keepAlive: true, connectionTimeoutMillis: 10_000 };
    this.#pool = new pg.Pool({
      ...connection,
      application_name: name,
      max,
      // A job is a wake-up for a record. If a crash of the database loses the newest ones, they are made again from the
      // records, so no command of the queue waits for the disk.
      options: '-c search_path=bullmq -c synchronous_commit=off',
    });
    // Every queue and worker adds its own listener.
    this.#pool.setMaxListeners(0);
    this.options = (this.#pool as unknown as { options: pg.PoolConfig }).options;
    this.#listener = new SharedListener(
      () => new pg.Client({ ...connection, application_name: `${name}${LISTENER}` }),
      (text, params) => this.query(text, params),
    );
  }

  async query(text: string, params?: unknown[]): Promise<pg.QueryResult> {
    if (text.includes(STALLED_CHECK) && !(await this.#busyQueues()).has(String(params?.[0]))) {
      return { rows: [] } as unknown as pg.QueryResult;
    }
    return this.#query(text, params);
  }

  /**
   * The queues with a job that a worker has. Each queue looks for stalled jobs on its own timer, and all of them at about the
   * same time: they share one answer, because most queues have none.
   */
  #busyQueues(): Promise<ReadonlySet<string>> {
    const now = performance.now();
    if (this.#busy === null || now - this.#busy.asked > SHARED_MS) {
      const queues = this.#query(BUSY_QUEUES).then(({ rows }) => new Set(rows.map(({ queue }) => String(queue))));
      this.#busy = { asked: now, queues };
      queues.catch(() => {
        this.#busy = null;
      });
    }
    return this.#busy.queues;
  }

  async #query(text: string, params?: unknown[]): Promise<pg.QueryResult> {
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

  /** What BullMQ takes for a connection of its own, on which it listens. */
  async connect(): Promise<QueueClient> {
    return this.#listener.client();
  }

  async end(): Promise<void> {
    await this.#listener.close();
    await this.#pool.end();
  }

  on(event: 'error', listener: (error: Error) => void): this {
    this.#pool.on(event, listener);
    return this;
  }

  removeAllListeners(event?: string): this {
    this.#pool.removeAllListeners(event);
    return this;
  }

  async #run(text: string, params: unknown[] | undefined): Promise<pg.QueryResult> {
    if (params === undefined || params.length === 0) return this.#pool.query(text);
    const client = await this.#pool.connect();
    // The pool has no listener on a connection that is in use, and an 'error' event without a listener ends the process. The
    // command itself fails with the error.
    client.on('error', ignore);
    try {
      const rows = await runPrepared<pg.QueryResultRow>(client, { name: this.#nameOf(text), text }, params);
      client.removeListener('error', ignore);
      client.release();
      return { rows } as pg.QueryResult;
    } catch (error) {
      // The connection may be broken, so it is closed. The pool does the same after its own commands.
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

/** How the names of the connections end on which workers listen. */
export const LISTENER = '-listener';

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
