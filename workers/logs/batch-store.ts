import { v7 as uuidv7 } from 'uuid';
import type { Db, Transaction } from '../../shared/core/database/database-client.js';
import type { LogBatchRow, LogLine, LogSource } from '../../shared/logs/model.js';

export interface NewLogBatch {
  serviceId: string;
  deploymentId: string | null;
  /** The run that printed the lines. */
  runId?: string | null;
  source: LogSource;
  lines: LogLine[];
}

/** One row of `log_batches` holds at most this many lines and characters; more lines make several rows. */
export const BATCH_LINES = 1000;
const BATCH_CHARACTERS = 512 * 1024;

/** PostgreSQL cannot store NUL, and UTF-8 has no unpaired surrogates. */
const UNSTORABLE = /\p{Surrogate}|\0/gu;

/**
 * Stores lines as batches, in order, in one statement. Returns the first batch's id.
 * A log-ingest job moves them into the log and gives them their ids.
 */
export async function insertLogBatches(db: Db, batches: readonly NewLogBatch[]): Promise<string> {
  // Ids of one process ascend, so the parts keep their order.
  const rows = batches.flatMap(({ serviceId, deploymentId, runId = null, source, lines }) =>
    [...partsOf(lines)].map((part) => [
      uuidv7(),
      serviceId,
      deploymentId,
      runId,
      source,
      JSON.stringify(part),
      part.length,
    ]),
  );
  if (rows.length === 0) return '';
  const values = rows.map(() => '(?, ?, ?, ?, ?, ?, ?, 1, now())').join(', ');
  await db.raw(
    `insert into log_batches (id, service_id, deployment_id, run_id, source, lines, line_count, dispatches, due_at) values ${values}`,
    rows.flat() as (string | number | null)[],
  );
  return String(rows[0]?.[0]);
}

/** Splits lines into parts of bounded size, in a form that the database can store. */
export function* partsOf<T extends LogLine>(lines: readonly T[]): Generator<T[]> {
  let part: T[] = [];
  let characters = 0;
  for (const line of lines) {
    if (part.length === BATCH_LINES || (part.length > 0 && characters + line.message.length > BATCH_CHARACTERS)) {
      yield part;
      part = [];
      characters = 0;
    }
    part.push({ ...line, message: line.message.replace(UNSTORABLE, '\ufffd') });
    characters += line.message.length;
  }
  if (part.length > 0) yield part;
}

/** Returns the batch of a service that has waited longest. */
export async function oldestBatch(
  db: Db,
  serviceId: string,
): Promise<Pick<LogBatchRow, 'id' | 'dispatches'> | undefined> {
  return db<LogBatchRow>('log_batches')
    .where({ service_id: serviceId })
    .orderBy(['created_at', 'id'])
    .first('id', 'dispatches');
}

/** Returns the service of a batch that still waits. */
export async function serviceOfBatch(db: Db, batchId: string): Promise<string | undefined> {
  const row = await db<LogBatchRow>('log_batches').where({ id: batchId }).first('service_id');
  return row?.service_id;
}

/** Records the last id that was given to a line of a service's log. */
export async function setLastLogId(trx: Transaction, serviceId: string, last: number): Promise<void> {
  await trx.raw('update log_counters set last_id = ? where service_id = ?', [last, serviceId]);
}
