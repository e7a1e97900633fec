import type pg from 'pg';
import type { Db } from './client.js';
import { type Prepared, prepare, runOn } from './prepared.js';

const BEGIN = prepare<never>('begin');
const COMMIT = prepare<never>('commit');
const ROLLBACK = prepare<never>('rollback');
const UNIQUE_VIOLATION = '23505';

export interface Statement<Row> {
  statement: Prepared<Row>;
  values: readonly unknown[];
}

/**
 * Runs a statement, and one that is made from its row, in a transaction of their own with two round trips. Returns the row. Null if the
 * first has none, or if the second violates a unique index; then nothing is written.
 */
export async function writePair<Row>(
  db: Db,
  first: Statement<Row>,
  second: (row: Row) => Statement<never>,
): Promise<Row | null> {
  const connection: pg.Client = await db.client.acquireConnection();
  let open = true;
  try {
    const row = await begin(connection, first);
    if (row === undefined) return null;
    const failure = await finish(connection, second(row));
    // A commit after a failure rolls back.
    open = false;
    if (failure === null) return row;
    if ((failure as { code?: string }).code === UNIQUE_VIOLATION) return null;
    throw failure;
  } finally {
    if (open) await rollBack(connection);
    db.client.releaseConnection(connection);
  }
}

/** Sends both at once. Waits for both, so that none is under way when the connection is used again. */
async function begin<Row>(connection: pg.Client, { statement, values }: Statement<Row>): Promise<Row | undefined> {
  const [begun, rows] = await Promise.allSettled([runOn(connection, BEGIN, []), runOn(connection, statement, values)]);
  if (begun.status === 'rejected') throw begun.reason;
  if (rows.status === 'rejected') throw rows.reason;
  return rows.value[0];
}

/** What failed, or null. */
async function finish(connection: pg.Client, { statement, values }: Statement<never>): Promise<unknown> {
  const sent = [runOn(connection, statement, values), runOn(connection, COMMIT, [])];
  const failed = (await Promise.allSettled(sent)).find((outcome) => outcome.status === 'rejected');
  return failed?.reason ?? null;
}

async function rollBack(connection: pg.Client): Promise<void> {
  // The pool throws away a connection that has ended.
  await runOn(connection, ROLLBACK, []).catch(() => connection.end().catch(() => undefined));
}
