import type { Knex } from 'knex';
import knexFactory from 'knex';
import pg from 'pg';
import { errorMessage } from '../error-registry.js';
import type { Logger } from '../log.js';

export type Db = Knex;

export type Transaction = Knex.Transaction;
export type Changes<Row> = { [Column in keyof Row]?: Row[Column] | Knex.Raw };

const INT8_OID = 20;
const CANNOT_CONNECT_NOW = '57P03';

/** A process that hangs in a transaction holds its locks no longer than this. */
const IDLE_IN_TRANSACTION_MS = 10_000;

/**
 * Without these options, the failure of the server's machine goes unnoticed: for minutes while a client connects, and
 * for two hours while it waits for a response.
 */
export const LASTING_CONNECTION = {
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
  connectionTimeoutMillis: 10_000,
};

/**
 * Milliseconds that the client waits after the server's own timeout for a statement. A server that has failed does not
 * cancel the statement itself.
 */
const ANSWER_MS = 5_000;

/** Parses 64-bit integers as numbers, which is safe because ids and counters stay far below 2^53. */
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === INT8_OID && format !== 'binary') return (value: string) => Number(value);
    return pg.types.getTypeParser(oid, format as 'text');
  },
};

export interface DatabaseOptions {
  url: string;
  /** The connections' name in pg_stat_activity. */
  name: string;
  poolSize?: number;
  /** 0 for no limit. */
  statementTimeoutMs?: number;
  /** 0 for no limit. */
  idleInTransactionMs?: number;
  log?: Logger;
}

/** Creates a connection pool, which the caller must destroy. */
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
      ...LASTING_CONNECTION,
      idle_in_transaction_session_timeout: idleInTransactionMs,
      ...(statementTimeoutMs > 0
        ? { statement_timeout: statementTimeoutMs, query_timeout: statementTimeoutMs + ANSWER_MS }
        : {}),
      types,
      // Lets `rowsOfBatch` and `SharedConnections` send a statement before earlier results have arrived.
      pipeline: true,
    } as Knex.PgConnectionConfig,
    // Keeps one connection for periodic work, because opening a connection takes three round trips.
    pool: { min: 1, max: poolSize, afterCreate: assertPrimary },
    acquireConnectionTimeout: 10_000,
    // Otherwise the error of a failed statement would contain the statement's values, and logs would show them.
    compileSqlOnError: false,
    log: {
      warn: (message) => log?.warn(String(message)),
      error: (message) => log?.warn(String(message)),
    },
  });
}

/**
 * Refuses a connection to a standby, which the database's address may name for a moment during a failover. The pool
 * would keep that connection, and writes would go on failing after the address names the primary again.
 */
function assertPrimary(connection: pg.Client, done: (error: Error | null) => void): void {
  connection
    .query<{ standby: boolean }>('select pg_is_in_recovery() as standby')
    .then(({ rows }) => {
      if (rows[0]?.standby) {
        const message = 'the address of the database names a standby, which accepts no writes';
        throw Object.assign(new Error(message), { code: CANNOT_CONNECT_NOW });
      }
      done(null);
    })
    .catch((error: Error) => void connection.end().then(() => done(error), done));
}

/**
 * Returns the rows of a raw statement. Write `cast(:name as type)` and not `:name::type`, in which knex would read
 * `:name:` as an identifier.
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

/**
 * Classes of PostgreSQL error codes for errors that a statement's data causes: invalid values, constraints, size
 * limits.
 */
const REFUSALS = ['21', '22', '23', '54'];

/** Returns true if the database refused a statement because of its data. A retry would fail again. */
export function isRefusal(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== 'string' || code.length !== 5) return false;
  // XX000 includes requests for more memory than a value may use.
  return REFUSALS.includes(code.slice(0, 2)) || code === 'XX000';
}

export function refusalReason(error: unknown): string {
  const message = errorMessage(error);
  return message
    .slice(message.lastIndexOf(' - ') + 1)
    .replace(/^- /, '')
    .slice(0, MAX_REASON_LENGTH);
}

const QUERY_CANCELED = '57014';

/** Returns true if a statement was cancelled, for example because it exceeded its timeout. */
export function isTimeout(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === QUERY_CANCELED;
}

/**
 * Beginnings of PostgreSQL error codes which mean that the server lost the connection, is starting or stopping, has no
 * free connection, or is a standby.
 */
const AWAY = ['08', '57P01', '57P02', CANNOT_CONNECT_NOW, '53300', '25006'];
const AWAY_SYSTEM = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOENT'];
/** Errors of pg and knex for lost or failed connections have no code, only these messages. */
const AWAY_MESSAGES =
  /^Connection terminated|timeout exceeded when trying to connect|^Knex: Timeout acquiring|^Query read timeout/;

/** Returns true if the server could not be reached. Whether the statement had an effect is then unknown. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined) return AWAY_MESSAGES.test(error.message);
  if (syscall !== undefined) return AWAY_SYSTEM.includes(code) && /^(connect|read|write)$/.test(syscall);
  return code.length === 5 && AWAY.some((away) => code.startsWith(away));
}

/** Takes an advisory lock until the transaction ends. */
export async function lockUntilCommit(trx: Transaction, name: string): Promise<void> {
  await trx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [name]);
}

/** Returns the installation's id, which labels its resources in shared systems, such as a bucket. */
export async function installationId(db: Db): Promise<string> {
  const id = await oneValue<string>(db, 'select id from installation');
  if (id === null) throw new Error('the table "installation" has lost its row');
  return id;
}

export async function oneRow<T>(db: Db, sql: string, bindings: Parameters<typeof rowsOf>[2] = []): Promise<T | null> {
  const [row] = await rowsOf<T>(db, sql, bindings);
  return row ?? null;
}

export async function theRow<T>(db: Db, sql: string, bindings: Parameters<typeof rowsOf>[2] = []): Promise<T> {
  return returnedRow(await oneRow<T>(db, sql, bindings));
}

/** Returns true if a raw statement returned or changed a row. */
export async function anyRow(db: Db, sql: string, bindings: Parameters<typeof rowsOf>[2] = []): Promise<boolean> {
  return (await rowCountOf(db, sql, bindings)) > 0;
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

/** Returns the first column of a statement's first row; null if there is no row. */
export async function oneValue<T>(db: Db, sql: string, bindings: Parameters<typeof rowsOf>[2] = []): Promise<T | null> {
  const [value] = await valuesOf<T>(db, sql, bindings);
  return value ?? null;
}

/** Returns the number that a statement selects as `count`. */
export async function countOf(db: Db, sql: string, bindings: Parameters<typeof rowsOf>[2] = []): Promise<number> {
  return (await oneRow<{ count: number }>(db, sql, bindings))?.count ?? 0;
}

/** Returns the row of a statement that always returns one. Throws an error if there is none. */
export function returnedRow<T>(row: T | null | undefined): T {
  if (row === null || row === undefined) throw new Error('the statement returned no row');
  return row;
}
