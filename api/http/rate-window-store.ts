import type { Db } from '../../shared/core/database/database-client.js';
import { prepare, rowOfPrepared } from '../../shared/core/database/prepared.js';

/**
 * State of a window after points were taken from it. `points`: how many all processes have taken. `left`: milliseconds
 * until the window ends.
 */
export interface WindowCount {
  points: number;
  left: number;
}

const NOW = 'cast(extract(epoch from clock_timestamp()) * 1000 as bigint)';

const TAKE = prepare<WindowCount>(
  `insert into rate_limits as r (key, points, expire) values ($1, $2, ${NOW} + $3)
   on conflict (key) do update
      set points = case when r.expire <= ${NOW} then excluded.points else r.points + excluded.points end,
          expire = case when r.expire <= ${NOW} then excluded.expire else r.expire end
   returning points, cast(expire - ${NOW} as integer) as left`,
);

/**
 * Takes points from a rate-limit window that all processes share. A window starts with its first point and lasts
 * `windowMs` by the database's clock. The caller decides which of the points are within its limit.
 */
export async function takePoints(db: Db, key: string, points: number, windowMs: number): Promise<WindowCount> {
  const count = await rowOfPrepared(db, TAKE, [key, points, windowMs]);
  if (!count) throw new Error('the window of a rate limit was not stored');
  return count;
}
