import { anyRow, type Db, rowsOf, valuesOf } from '../core/database/database-client.js';
import { daysAhead, EXPIRY_DAYS } from './model.js';

/** Short, because a change of partitions waits for running queries, and new queries wait for the change. */
const LOCK_TIMEOUT = '2s';

const TODAY = `(now() at time zone 'UTC')::date`;

/**
 * Creates the partitions of `log_lines`, one per day of expiry. `log_lines_other` has the lines without a partition.
 */
export async function ensureLogDays(db: Db): Promise<void> {
  const missing = await rowsOf<{ day: string; name: string }>(
    db,
    `select day::text, name
       from (select ${TODAY} + n as day, 'log_lines_' || to_char(${TODAY} + n, 'YYYYMMDD') as name
               from generate_series(1, cast(:ahead as int)) n) days
      where to_regclass(name) is null order by day`,
    { ahead: daysAhead() },
  );
  for (const { day, name } of missing) {
    await db.transaction(async (trx) => {
      await trx.raw(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
      await trx.raw('create table ?? (like log_lines including defaults including constraints including indexes)', [
        name,
      ]);
      const moved = 'service_id, id, deployment_id, run_id, source, level, message, logged_at, expires_on';
      await trx.raw(
        `with moved as (delete from log_lines_other where expires_on = cast(? as date) returning ${moved})
         insert into ?? (${moved}) select ${moved} from moved`,
        [day, name],
      );
      // Attaching a partition does not wait for readers of other days; creating the table as a partition would.
      await trx.raw(
        `alter table log_lines attach partition ?? for values from ('${day}') to (cast('${day}' as date) + 1)`,
        [name],
      );
    });
  }
}

/**
 * Drops the partitions of expired log lines, and returns their number (specification, Logs: `logDays`). A line is kept
 * for the days in its service's plan at the time it was stored.
 */
export async function dropExpiredLogs(db: Db): Promise<number> {
  const expired = await valuesOf<string>(
    db,
    `select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = 'log_lines'::regclass and c.relname ~ '^log_lines_[0-9]{8}$'
        and to_date(right(c.relname, 8), 'YYYYMMDD') <= ${TODAY}
      order by c.relname`,
  );
  for (const name of expired) {
    await db.transaction(async (trx) => {
      await trx.raw(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
      await trx.raw('drop table ??', [name]);
    });
  }
  const others = await anyRow(db, `delete from log_lines_other where expires_on <= ${TODAY}`);
  return expired.length + (others ? 1 : 0);
}

const DAY_MS = 86_400_000;

/** Returns the days on which lines logged between two times expire. A query for these days reads no other partition. */
export function expiryDaysOf(since: Date, now: Date): string[] {
  const days = new Set<string>();
  const first = Math.floor(since.getTime() / DAY_MS);
  // The clock of the worker that logged a line may be ahead of this process's clock, so the next day is included.
  const last = Math.floor(now.getTime() / DAY_MS) + 1;
  for (let day = first; day <= last; day++) {
    for (const kept of EXPIRY_DAYS) days.add(new Date((day + kept) * DAY_MS).toISOString().slice(0, 10));
  }
  return [...days].sort();
}
