import { type Db, isRefusal, rowsOf, type Transaction } from '../../shared/core/database/database-client.js';
import { DAYS_TO_EXPIRY, expiresOn, type LogBatchRow } from '../../shared/logs/model.js';
import { oldestBatch, setLastLogId } from './batch-store.js';
import { storeRefusedBatch } from './refused-batch.js';

/** How many lines and batches one transaction moves, and how long a service's turn lasts. */
const LINES_AT_ONCE = 5000;
const BATCHES_AT_ONCE = 50;
const TURN_MS = 200;

export interface IngestTurn {
  lines: number;
  /** Number of lines that could not be stored. The log has a warning in their place. */
  leftOut: number;
  /** True if the turn is over and batches of the service are still waiting. */
  more: boolean;
}

/**
 * Moves a service's waiting batches into its log, oldest first, for one turn (specification, Logs). Returns at once if
 * another process is moving batches of the service.
 */
export async function ingestTurn(db: Db, serviceId: string): Promise<IngestTurn> {
  const turn: IngestTurn = { lines: 0, leftOut: 0, more: false };
  const end = Date.now() + TURN_MS;
  for (;;) {
    const moved = await ingestOnce(db, serviceId, 'skip locked');
    if (moved === 'busy') return turn;
    turn.lines += moved.lines;
    turn.leftOut += moved.leftOut;
    // A process that finds the lock taken leaves its batch to this process. So look for batches again after the lock is
    // released.
    if (!(await oldestBatch(db, serviceId))) return turn;
    if (Date.now() >= end) return { ...turn, more: true };
  }
}

/** Moves all of a service's batches that are waiting now into its log. Later batches are left to `log-ingest` jobs. */
export async function ingestLogs(db: Db, serviceId: string): Promise<void> {
  const [last] = await rowsOf<{ id: string; created_at: Date }>(
    db,
    'select id, created_at from log_batches where service_id = ? order by created_at desc, id desc limit 1',
    [serviceId],
  );
  if (!last) return;
  for (;;) {
    const left = await db<LogBatchRow>('log_batches').where({ service_id: serviceId, id: last.id }).first('id');
    if (!left) return;
    await ingestOnce(db, serviceId, '');
  }
}

interface Moved {
  lines: number;
  leftOut: number;
}

async function ingestOnce(db: Db, serviceId: string, wait: '' | 'skip locked'): Promise<Moved | 'busy'> {
  const locked = (move: typeof moveBatches): Promise<Moved | 'busy'> =>
    db.transaction(async (trx) => {
      const last = await lockCounter(trx, serviceId, wait);
      return last === undefined ? 'busy' : move(trx, serviceId, last);
    });
  return locked(moveBatches).catch((error: unknown) => {
    if (!isRefusal(error)) throw error;
    return locked(storeRefusedBatch);
  });
}

/**
 * Locks a service's counter, so that ids follow commit order, and returns the last assigned id. Returns undefined if
 * the service is gone, or if `wait` is `skip locked` and another process has the lock.
 */
async function lockCounter(trx: Transaction, serviceId: string, wait: string): Promise<number | undefined> {
  await trx.raw(
    'insert into log_counters (service_id) select id from services where id = ? on conflict (service_id) do nothing',
    [serviceId],
  );
  const [counter] = await rowsOf<{ last_id: number }>(
    trx,
    `select last_id from log_counters where service_id = ? for update ${wait}`,
    [serviceId],
  );
  return counter?.last_id;
}

/** Moves and deletes batches in one statement, so that no line is stored twice if a job is repeated. */
async function moveBatches(trx: Transaction, serviceId: string, last: number): Promise<Moved> {
  const [moved] = await rowsOf<{ lines: number }>(
    trx,
    `with waiting as (
       select id, sum(line_count) over (order by created_at, id) - line_count as before
         from (select id, created_at, line_count from log_batches where service_id = :serviceId
                order by created_at, id limit ${BATCHES_AT_ONCE}) oldest
     ), moved as (
       delete from log_batches b using waiting w where b.id = w.id and w.before < ${LINES_AT_ONCE} returning b.*
     ), stored as (
       insert into log_lines (service_id, id, deployment_id, run_id, source, level, message, logged_at, expires_on)
       select :serviceId, :last + row_number() over (order by m.created_at, m.id, l.place), m.deployment_id, m.run_id, m.source,
              l.line ->> 'level', l.line ->> 'message', cast(l.line ->> 'timestamp' as timestamptz),
              ${expiresOn(`cast(l.line ->> 'timestamp' as timestamptz)`, 'kept.days')}
         from moved m cross join lateral jsonb_array_elements(m.lines) with ordinality as l(line, place),
              (select ${DAYS_TO_EXPIRY} as days from services s where s.id = :serviceId) kept
       returning 1
     )
     select count(*) as lines from stored`,
    { serviceId, last },
  );
  const lines = moved?.lines ?? 0;
  if (lines > 0) await setLastLogId(trx, serviceId, last + lines);
  return { lines, leftOut: 0 };
}
