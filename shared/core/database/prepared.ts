import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { Db, Transaction } from './database-client.js';
import { runPrepared } from './prepared-query.js';
import { SharedConnections } from './shared-connections.js';

/**
 * A statement that each connection parses only once. Parsing and planning a short statement cost more than executing
 * it.
 */
export interface Prepared<Row> {
  readonly name: string;
  readonly text: string;
  readonly row?: Row;
}

/**
 * Declares a statement with the parameters `$1` to `$n`. It must list its columns: with `*`, open connections would
 * fail after a migration that adds a column.
 */
export function prepare<Row>(text: string): Prepared<Row> {
  if (/[\s.]\*\s*(,|\bfrom\b|$)/i.test(text)) throw new Error(`a prepared statement names its columns: ${text}`);
  return { name: `ranvier_${createHash('sha256').update(text).digest('hex').slice(0, 20)}`, text };
}

/** The value is never used, only its type. */
export const column = <Type>() => undefined as Type;

export async function rowsOfPrepared<Row>(
  db: Db,
  statement: Prepared<Row>,
  values: readonly unknown[],
): Promise<Row[]> {
  return withConnection(db, (connection) => runOn(connection, statement, values));
}

const BEGIN = prepare<never>('begin');
const COMMIT = prepare<never>('commit');

/** Runs prepared statements without parameters in one transaction and one round trip. Returns their rows. */
export async function rowsOfBatch<Rows extends readonly unknown[]>(
  db: Db,
  statements: { readonly [Index in keyof Rows]: Prepared<Rows[Index]> },
): Promise<{ [Index in keyof Rows]: Rows[Index][] }> {
  const inner: readonly Prepared<unknown>[] = statements;
  const sent = db.isTransaction ? inner : [BEGIN, ...inner, COMMIT];
  const rows = await withConnection(db, (connection) =>
    allOf(sent.map((statement) => runOn(connection, statement, []))),
  );
  return (db.isTransaction ? rows : rows.slice(1, -1)) as { [Index in keyof Rows]: Rows[Index][] };
}

export async function rowOfPrepared<Row>(
  db: Db,
  statement: Prepared<Row>,
  values: readonly unknown[],
): Promise<Row | null> {
  const [row] = await rowsOfPrepared(db, statement, values);
  return row ?? null;
}

const named = new Map<string, { statement: Prepared<unknown>; names: string[] }>();

/**
 * Prepares a statement with `:name` parameters, and returns its rows. The text must not depend on input, because each
 * text is kept forever.
 */
export async function rowsOfNamed<Row>(
  db: Db,
  text: string,
  values: Readonly<Record<string, unknown>>,
): Promise<Row[]> {
  const found = named.get(text) ?? numbered(text, values);
  named.set(text, found);
  return rowsOfPrepared(
    db,
    found.statement as Prepared<Row>,
    found.names.map((name) => values[name]),
  );
}

function numbered(text: string, values: Readonly<Record<string, unknown>>) {
  const names: string[] = [];
  const sql = text.replace(/(?<![:\w]):([a-z]\w*)/g, (whole, name: string) => {
    if (!(name in values)) return whole;
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return { statement: prepare<unknown>(sql), names };
}

const shared = new WeakMap<object, SharedConnections>();

/** Runs a short read on a connection that other requests share. The read must not wait for locks. */
export async function rowOfShared<Row>(
  db: Db,
  statement: Prepared<Row>,
  values: readonly unknown[],
): Promise<Row | null> {
  const connections = shared.get(db.client) ?? new SharedConnections(db.client);
  shared.set(db.client, connections);
  const [row] = await connections.use((connection) => runOn(connection, statement, values));
  return row ?? null;
}

async function runOn<Row>(connection: pg.Client, statement: Prepared<Row>, values: readonly unknown[]): Promise<Row[]> {
  try {
    return await runPrepared<Row>(connection, statement, values);
  } catch (error) {
    // The error was created in the socket code, so its own stack does not show where the statement was run.
    if (error instanceof Error) Error.captureStackTrace(error);
    throw error;
  }
}

/** Waits for all statements, so that none is still running when the connection is reused. */
async function allOf<T>(sent: readonly Promise<T>[]): Promise<T[]> {
  const outcomes = await Promise.allSettled(sent);
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
}

async function withConnection<T>(db: Db, work: (connection: pg.Client) => Promise<T>): Promise<T> {
  // A transaction that has ended has returned its connection to the pool, where another request may have taken it.
  if ((db as Db & Partial<Pick<Transaction, 'isCompleted'>>).isCompleted?.())
    throw new Error('the transaction has ended already');
  const connection: pg.Client = await db.client.acquireConnection();
  try {
    return await work(connection);
  } finally {
    db.client.releaseConnection(connection);
  }
}
