import type { Knex } from 'knex';
import knexFactory from 'knex';
import pg from 'pg';
import { errorMessage } from '../error-registry.js';
import type { Logger } from '../log.js';

/** The platform's database, or a transaction of it: stores take either. */
export type Db = Knex;

export type Transaction = Knex.Transaction;
/** New values of a row's columns. Some may be expressions of SQL. */
export type Changes<Row> = { [Column in keyof Row]?: Row[Column] | Knex.Raw };

const INT8_OID = 20;

/** Default of `idleInTransactionMs`: if a process hangs, its locks are freed after this time. */
const IDLE_IN_TRANSACTION_MS = 10_000;

/**
 * Parses 64-bit integers as numbers, because ids and counters stay far below 2^53. BullMQ's clients do not use this.
 */
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === INT8_OID && format !== 'binary') return (value: string) => Number(value);
    return pg.types.getTypeParser(oid, format as 'text');
  },
};

export interface DatabaseOptions {
  url: string;
  /** The connections' application name, which pg_stat_activity shows. */
  name: string;
  /** The most connections that this process opens. */
  poolSize?: number;
  /** A longer statement is cancelled, in milliseconds; 0 for never. */
  statementTimeoutMs?: number;
  /** PostgreSQL ends a transaction after this time without a statement, in milliseconds; 0 for never. */
  idleInTransactionMs?: number;
  /** If given, gets a warning for each lost connection. Queries on that connection fail as well. */
  log?: Logger;
}

/** Opens the pool; nothing connects before the first query. The caller destroys it. */
export function createDatabase({
  url,
  name,
  poolSize = 10,
  statementTimeoutMs = 0,
  idleInTransactionMs = IDLE_IN_TRANSACTION_MS,
  log,
}: DatabaseOptions): Db {
  return knexFactory({
    client: 'pg',
    connection: {
      connectionString: url,
      application_name: name,
      keepAlive: true,
      idle_in_transaction_session_timeout: idleInTransactionMs,
      ...(statementTimeoutMs > 0 ? { statement_timeout: statementTimeoutMs } : {}),
      types,
      // Lets shared-connections.ts send several reads at once. All other users wait for each answer.
      pipeline: true,
    } as Knex.PgConnectionConfig,
    pool: { min: 0, max: poolSize },
    acquireConnectionTimeout: 10_000,
    // Otherwise the values of a failing statement would appear in its error's message, and so in logs.
    compileSqlOnError: false,
    log: {
      warn: (message) => log?.warn(String(message)),
      error: (message) => log?.warn(String(message)),
    },
  });
}

/**
 * Returns the rows of a raw statement, with the caller's type.
 * Write a cast beside a named binding as `cast(:name as type)`: knex reads `:name:` as an identifier.
 */
export async function rowsOf<T>(
  db: Db,
  sql: string,
  bindings: readonly unknown[] | Readonly<Record<string, unknown>> = [],
): Promise<T[]> {
  const result: { rows: T[] } = await db.raw(sql, bindings as Knex.RawBinding[]);
  return result.rows;
}

const MAX_REASON_LENGTH = 200;

/** Classes of SQLSTATE that a statement's own data causes: values, constraints, limits of size. */
const REFUSALS = ['21', '22', '23', '54'];

/** Returns true if the database refused a statement because of its data: it would fail again. */
export function isRefusal(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== 'string' || code.length !== 5) return false;
  // XX000 includes requests for more memory than a value may have.
  return REFUSALS.includes(code.slice(0, 2)) || code === 'XX000';
}

/** Returns why the database refused a statement, without the statement that knex puts first. */
export function refusalReason(error: unknown): string {
  const message = errorMessage(error);
  return message
    .slice(message.lastIndexOf(' - ') + 1)
    .replace(/^- /, '')
    .slice(0, MAX_REASON_LENGTH);
}

const QUERY_CANCELED = '57014';

/** Returns true if a statement was cancelled because it ran for too long. */
export function isTimeout(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === QUERY_CANCELED;
}

/** Takes an advisory lock until the transaction ends. Transactions with the same name wait. */
export async function lockUntilCommit(trx: Transaction, name: string): Promise<void> {
  await trx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [name]);
}

/** Returns the id of this installation. It marks what the installation creates in systems that it shares with others. */
export async function installationId(db: Db): Promise<string> {
  const [row] = await rowsOf<{ id: string }>(db, 'select id from installation', []);
  if (!row) throw new Error('the table "installation" has lost its row');
  return row.id;
}

/** Returns the first row of a raw statement, or null. */
export async function oneRow<T>(db: Db, sql: string, bindings: Parameters<typeof rowsOf>[2] = []): Promise<T | null> {
  const [row] = await rowsOf<T>(db, sql, bindings);
  return row ?? null;
}

/** Returns how many rows a raw statement returned or changed. */
export async function rowCountOf(db: Db, sql: string, bindings: Parameters<typeof rowsOf>[2] = []): Promise<number> {
  const result: { rowCount: number } = await db.raw(sql, bindings as Knex.RawBinding[]);
  return result.rowCount;
}

/** Returns the values of the one column that a statement selects. */
export async function valuesOf<T>(db: Db, sql: string, bindings: Parameters<typeof rowsOf>[2] = []): Promise<T[]> {
  return (await rowsOf<Record<string, T>>(db, sql, bindings)).flatMap((row) => Object.values(row));
}

/** Returns the number that a statement selects as `count`; 0 if it returns no row. */
export async function countOf(db: Db, sql: string, bindings: Parameters<typeof rowsOf>[2] = []): Promise<number> {
  return (await oneRow<{ count: number }>(db, sql, bindings))?.count ?? 0;
}

/** Returns the row of a statement that always returns one. Throws an error if it returned none. */
export function returnedRow<T>(row: T | null | undefined): T {
  if (row === null || row === undefined) throw new Error('the statement returned no row');
  return row;
}
