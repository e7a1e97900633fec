import { isRefusal, oneRow, refusalReason, type Transaction } from '../../shared/core/database/database-client.js';
import { DAYS_TO_EXPIRY, expiresOn } from '../../shared/logs/model.js';
import { setLastLogId } from './batch-store.js';

/** After this many splits, a part that is still refused is left out as a whole. */
const MAX_SPLITS = 40;

/**
 * Stores the acceptable lines of a service's oldest batch, which was refused, and deletes the batch. A note replaces
 * the other lines. The caller must hold the lock on the service's counter.
 */
export async function storeRefusedBatch(
  trx: Transaction,
  serviceId: string,
  lastBefore: number,
): Promise<{ lines: number; leftOut: number }> {
  const batch = await oneRow<{ id: string; lines: number | null }>(
    trx,
    `select id, case when jsonb_typeof(lines) = 'array' then jsonb_array_length(lines) end as lines
       from log_batches where service_id = ? order by created_at, id limit 1 for update`,
    [serviceId],
  );
  if (!batch) return { lines: 0, leftOut: 0 };
  let [last, leftOut, splits] = [lastBefore, 0, 0];

  const insert = async (savepoint: Transaction, from: number, to: number) => {
    await savepoint.raw(
      `insert into log_lines (service_id, id, deployment_id, run_id, source, level, message, logged_at, expires_on)
       select b.service_id, :last + l.place - :from, b.deployment_id, b.run_id, b.source,
              l.line ->> 'level', l.line ->> 'message', cast(l.line ->> 'timestamp' as timestamptz),
              ${expiresOn(`cast(l.line ->> 'timestamp' as timestamptz)`, DAYS_TO_EXPIRY)}
         from log_batches b join services s on s.id = b.service_id cross join lateral jsonb_array_elements(b.lines) with ordinality as l(line, place)
        where b.id = :batchId and l.place > :from and l.place <= :to`,
      { batchId: batch.id, last, from, to },
    );
  };

  const leaveOut = async (what: string, count: number, reason: string) => {
    const message = `${what} could not be stored and is left out here (${reason})`;
    await trx.raw(
      `insert into log_lines (service_id, id, deployment_id, run_id, source, level, message, logged_at, expires_on)
       select b.service_id, :id, b.deployment_id, b.run_id, b.source, 'warn', :message, now(), ${expiresOn('now()', DAYS_TO_EXPIRY)}
         from log_batches b join services s on s.id = b.service_id where b.id = :batchId`,
      { id: last + 1, message, batchId: batch.id },
    );
    last += 1;
    leftOut += count;
  };

  // Stores the lines after `from` up to `to`, in halves if they are refused together.
  const store = async (from: number, to: number): Promise<void> => {
    if (from === to) return;
    try {
      await trx.transaction((savepoint) => insert(savepoint, from, to));
      last += to - from;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (to - from === 1) return leaveOut('A line', 1, refusalReason(error));
      if (++splits > MAX_SPLITS) return leaveOut(`${to - from} lines`, to - from, refusalReason(error));
      const middle = (from + to) >> 1;
      await store(from, middle);
      await store(middle, to);
    }
  };

  if (batch.lines === null) await leaveOut('A batch of lines', 1, 'it is not a list');
  else await store(0, batch.lines);
  await trx.raw('delete from log_batches where id = ?', [batch.id]);
  await setLastLogId(trx, serviceId, last);
  return { lines: last - lastBefore, leftOut };
}
