import knexFactory, { type Knex } from 'knex';
import pg from 'pg';
import type { Logger } from '../log.js';

/** The platform's database, or a transaction of it: every repository takes either. */
export type Db = Knex;
export type Transaction = Knex.Transaction;

const INT8_OID = 20;
/** A process that hangs within a transaction holds its locks no longer than this, so that nobody waits for it forever. */
const IDLE_IN_TRANSACTION_MS = 5000;

/** 64-bit integers arrive as numbers (ids and counters stay far below 2^53); set for our clients only, not for BullMQ's. */
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === INT8_OID && format !== 'binary') return (value: string) => Number(value);
    return pg.types.getTypeParser(oid, format as 'text');
  },
};

export interface DatabaseOptions {
  url: string;
  /** Shown in pg_stat_activity. */
  name: string;
  /** Most connections this process opens. */
  poolSize?: number;
  /** Told of connections that were lost; their queries fail besides. */
  log?: Logger;
}

/** Opens the pool; nothing connects before the first query. The caller destroys it. */
export function createDatabase({ url, name, poolSize = 10, log }: DatabaseOptions): Db {
  return knexFactory({
    client: 'pg',
    connection: {
      connectionString: url,
      application_name: name,
      keepAlive: true,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
      types,
    } as Knex.PgConnectionConfig,
    pool: { min: 0, max: poolSize },
    acquireConnectionTimeout: 10_000,
    // Otherwise the values of a failing statement become part of its error's message, and so of the logs.
    compileSqlOnError: false,
    log: {
      warn: (message) => log?.warn(String(message)),
      error: (message) => log?.warn(String(message)),
    },
  });
}

/**
 * Rows of a raw statement, typed by the caller who wrote it. A cast beside a named binding is written
 * `cast(:name as type)`: knex reads `:name:` as an identifier.
 */
export async function rowsOf<T>(
  db: Db,
  sql: string,
  bindings: readonly unknown[] | Readonly<Record<string, unknown>> = [],
): Promise<T[]> {
  const result: { rows: T[] } = await db.raw(sql, bindings as Knex.RawBinding[]);
  return result.rows;
}

/** Takes an advisory lock until the transaction ends; everybody who names it waits for us. */
export async function lockUntilCommit(trx: Transaction, name: string): Promise<void> {
  await trx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [name]);
}
