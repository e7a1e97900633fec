import { v7 as uuidv7 } from 'uuid';
import type { LogLine, LogSource } from '../domain/log.js';
import { type Db, rowsOf, type Transaction } from './client.js';
import type { LogBatchRow } from './rows.js';

export interface NewLogBatch {
  serviceId: string;
  deploymentId: string | null;
  source: LogSource;
  lines: LogLine[];
}

/** Stores a batch on its way in; a log-ingest job gives its lines their ids. Returns the batch's id. */
export async function insertLogBatch(db: Db, batch: NewLogBatch): Promise<string> {
  const id = uuidv7();
  await db.raw(
    `insert into log_batches (id, service_id, deployment_id, source, lines, dispatches)
     values (:id, :serviceId, :deploymentId, :source, :lines, 1)`,
    {
      id,
      serviceId: batch.serviceId,
      deploymentId: batch.deploymentId,
      source: batch.source,
      lines: JSON.stringify(batch.lines),
    },
  );
  return id;
}

const BATCHES_AT_ONCE = 50;

/**
 * Moves a service's waiting batches into its log, oldest first (specification, Logs). The counter's row lock gives ids
 * in commit order, so a reader that follows the cursor never misses a line; a batch is deleted with its move, so one
 * that is delivered twice is stored once. Returns how many lines it stored.
 */
export async function ingestLogs(db: Db, serviceId: string): Promise<number> {
  let stored = 0;
  for (;;) {
    const moved = await db.transaction((trx) => ingestOnce(trx, serviceId));
    stored += moved.lines;
    if (moved.batches < BATCHES_AT_ONCE) return stored;
  }
}

async function ingestOnce(trx: Transaction, serviceId: string): Promise<{ batches: number; lines: number }> {
  const [counter] = await rowsOf<{ last_id: number }>(
    trx,
    `insert into log_counters (service_id) select id from services where id = ?
     on conflict (service_id) do update set last_id = log_counters.last_id returning last_id`,
    [serviceId],
  );
  if (!counter) return { batches: 0, lines: 0 };
  const batches = await rowsOf<LogBatchRow>(
    trx,
    `with oldest as (
       select id from log_batches where service_id = :serviceId order by created_at, id limit ${BATCHES_AT_ONCE}
     )
     delete from log_batches b using oldest where b.id = oldest.id returning b.*`,
    { serviceId },
  );
  batches.sort((a, b) => a.created_at.getTime() - b.created_at.getTime() || (a.id < b.id ? -1 : 1));
  let id = counter.last_id;
  const lines = batches.flatMap((batch) =>
    batch.lines.map((line) => ({
      id: ++id,
      deployment_id: batch.deployment_id,
      source: batch.source,
      level: line.level,
      message: line.message,
      logged_at: line.timestamp,
    })),
  );
  if (lines.length > 0) {
    await trx.raw(
      `insert into log_lines (service_id, id, deployment_id, source, level, message, logged_at)
       select :serviceId, l.id, l.deployment_id, l.source, l.level, l.message, l.logged_at
         from jsonb_to_recordset(:lines) as l(id bigint, deployment_id uuid, source text, level text, message text, logged_at timestamptz)`,
      { serviceId, lines: JSON.stringify(lines) },
    );
    await trx.raw('update log_counters set last_id = :id where service_id = :serviceId', { id, serviceId });
  }
  return { batches: batches.length, lines: lines.length };
}

/** The service of a batch that still waits. */
export async function serviceOfBatch(db: Db, batchId: string): Promise<string | undefined> {
  const row = await db<LogBatchRow>('log_batches').where({ id: batchId }).first('service_id');
  return row?.service_id;
}

/** Batches that have waited for longer than a job should need. */
export async function findWaitingBatches(db: Db, seconds: number): Promise<{ id: string; dispatches: number }[]> {
  return rowsOf(
    db,
    `select distinct on (service_id) id, dispatches from log_batches
      where created_at < now() - :seconds * interval '1 second' order by service_id, created_at limit 500`,
    { seconds },
  );
}
