import pg from 'pg';
import { LASTING_CONNECTION } from '../../shared/core/database/database-client.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import type { Logger } from '../../shared/core/log.js';

/** Average time between two tries to take the leader's lock, counted over all waiting candidates. */
const RETRY_MS = 1000;
/** If the leader sends no query for this time, it counts as hung, and its connection is ended. */
const MAX_SILENCE_MS = 30_000;
/** How long to wait until the connection of a hung leader has ended, which frees its lock. */
const TERMINATION_MS = 5_000;
/** The leader sends a query at intervals of this fraction of `MAX_SILENCE_MS`, to show that it has not hung. */
const SIGN_SHARE = 1 / 3;

/**
 * Tries to take the lock named `$1`. All candidates name their connections `$1`, and the leader's connection holds an
 * advisory lock. If the leader has sent no query for `$2` seconds, `silent` is the process id of its backend in
 * PostgreSQL; otherwise `silent` is null.
 */
const COMPETE = `
  select pg_is_in_recovery() as standby,
         case when not pg_is_in_recovery() then pg_try_advisory_lock(hashtextextended($1, 0)) end as locked,
         cast(count(*) as int) as candidates,
         max(pid) filter (where pid in (select pid from pg_locks where locktype = 'advisory' and granted)
                            and state = 'idle' and state_change < now() - make_interval(secs => $2)) as silent
    from pg_stat_activity
   where application_name = $1 and datname = current_database()`;

interface Competition {
  standby: boolean;
  locked: boolean | null;
  candidates: number;
  silent: number | null;
}

/** Returns the delay before a candidate tries again. `chance`, from 0 to 1, spreads the tries. */
export function retryPauseMs(standbys: number, chance: number): number {
  return standbys <= 1 ? RETRY_MS : RETRY_MS * standbys * (0.5 + chance);
}

/**
 * Elects one leader among all processes that use the same lock. The lock is an advisory lock of a database session:
 * when the leader's process or connection ends, or hangs, another candidate takes over.
 */
export class Leadership {
  readonly #url: string;
  readonly #name: string;
  readonly #log: Logger;
  readonly #changed: (leading: boolean) => void;
  readonly #maxSilenceMs: number;
  #client: pg.Client | null = null;
  #leading = false;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(
    url: string,
    name: string,
    log: Logger,
    changed: (leading: boolean) => void = () => undefined,
    maxSilenceMs = MAX_SILENCE_MS,
  ) {
    this.#url = url;
    this.#name = name;
    this.#log = log;
    this.#changed = changed;
    this.#maxSilenceMs = maxSilenceMs;
  }

  get leading(): boolean {
    return this.#leading;
  }

  async start(): Promise<void> {
    await this.#compete();
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
    this.#set(false);
    await this.#client?.end().catch(() => undefined);
  }

  async #compete(): Promise<void> {
    let pauseMs = RETRY_MS;
    try {
      this.#client ??= await this.#connect();
      if (this.#leading) await this.#client.query('select');
      else pauseMs = await this.#tryLock(this.#client);
    } catch (error) {
      this.#log.warn({ lock: this.#name }, `cannot compete for leadership: ${errorMessage(error)}`);
      this.#drop();
    }
    if (!this.#closed)
      this.#timer = setTimeout(() => void this.#compete(), this.#leading ? this.#maxSilenceMs * SIGN_SHARE : pauseMs);
  }

  /** Tries once, and ends the connection of a hung leader. Returns the pause before the next try, in milliseconds. */
  async #tryLock(client: pg.Client): Promise<number> {
    const { rows } = await client.query<Competition>(COMPETE, [this.#name, this.#maxSilenceMs / 1000]);
    const { standby, locked, candidates, silent } = rows[0] as Competition;
    // A standby grants advisory locks independently of the primary, so two processes could lead.
    if (standby) throw new Error('the address of the database names a standby');
    if (locked && !this.#closed) this.#set(true);
    if (locked || silent === null) return retryPauseMs(candidates - 1, Math.random());
    this.#log.warn({ lock: this.#name, backend: silent }, 'the leader is silent, so its connection is ended');
    await client.query('select pg_terminate_backend($1, $2)', [silent, TERMINATION_MS]);
    return 0;
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: this.#name,
      ...LASTING_CONNECTION,
      query_timeout: 10_000,
    });
    client.on('error', () => this.#lost(client));
    client.on('end', () => this.#lost(client));
    await client.connect();
    return client;
  }

  #lost(client: pg.Client): void {
    if (this.#client === client) this.#drop();
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
