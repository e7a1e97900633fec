import pg from 'pg';
import { errorMessage } from '../../shared/core/error-registry.js';
import type { Logger } from '../../shared/core/log.js';

const RETRY_MS = 1000;

/**
 * Elects one leader among all processes that use the same lock. The lock is a session-level advisory lock on a separate
 * connection: when the process or its connection ends, another candidate takes over within about a second.
 */
export class Leadership {
  readonly #url: string;
  readonly #name: string;
  readonly #log: Logger;
  readonly #changed: (leading: boolean) => void;
  #client: pg.Client | null = null;
  #leading = false;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  /** `changed` is called with true when this process becomes the leader, and with false when it loses leadership. */
  constructor(url: string, name: string, log: Logger, changed: (leading: boolean) => void = () => undefined) {
    this.#url = url;
    this.#name = name;
    this.#log = log;
    this.#changed = changed;
  }

  get leading(): boolean {
    return this.#leading;
  }

  /** Starts to compete for leadership; resolves after the first try. */
  async start(): Promise<void> {
    await this.#compete();
  }

  /** Releases the lock. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
    this.#set(false);
    await this.#client?.end().catch(() => undefined);
  }

  async #compete(): Promise<void> {
    try {
      this.#client ??= await this.#connect();
      if (!this.#leading) {
        const { rows } = await this.#client.query<{ locked: boolean }>(
          'select pg_try_advisory_lock(hashtextextended($1, 0)) as locked',
          [this.#name],
        );
        if (rows[0]?.locked && !this.#closed) this.#set(true);
      } else {
        // This query fails if the connection was lost without an error.
        await this.#client.query('select 1');
      }
    } catch (error) {
      this.#log.warn({ lock: this.#name }, `cannot compete for leadership: ${errorMessage(error)}`);
      this.#drop();
    }
    if (!this.#closed) this.#timer = setTimeout(() => void this.#compete(), RETRY_MS);
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: this.#name,
      keepAlive: true,
      query_timeout: 10_000,
    });
    client.on('error', () => this.#drop());
    client.on('end', () => this.#drop());
    await client.connect();
    return client;
  }

  #drop(): void {
    const client = this.#client;
    this.#client = null;
    this.#set(false);
    client?.removeAllListeners('end');
    void client?.end().catch(() => undefined);
  }

  #set(leading: boolean): void {
    if (this.#leading === leading) return;
    this.#leading = leading;
    this.#changed(leading);
  }
}
