import type { Db } from '../../shared/core/database/database-client.js';
import { prepare, rowOfPrepared } from '../../shared/core/database/prepared.js';
import { type Lease, leaseOf, pointsToTake } from './rate-limit-lease.js';

/** Points taken by all processes, and milliseconds until the window ends. */
interface WindowCount {
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

/** A window starts with its first point, and lasts `windowMs` by the database's clock. */
async function takePoints(db: Db, key: string, points: number, windowMs: number): Promise<WindowCount> {
  const count = await rowOfPrepared(db, TAKE, [key, points, windowMs]);
  if (!count) throw new Error('the window of a rate limit was not stored');
  return count;
}

export interface Taken {
  admitted: boolean;
  remaining: number;
  msLeft: number;
}

interface Window {
  lease: Lease | null;
  waiting: ((window: Lease) => void)[];
  taking: boolean;
}

const CLEANED_MS = 60_000;

interface WindowOptions {
  db: Db;
  /** The keys of this limit in the table `rate_limits` begin with this name. */
  name: string;
  limit: number;
  windowMs: number;
  take?: typeof takePoints;
  clock?: () => number;
}

/**
 * Limits requests across all API processes, which lease points in advance so that most requests cost no write.
 * Together, the processes never exceed the limit. While the database is unavailable, each process counts separately.
 */
export class SharedWindows {
  readonly #options: Required<WindowOptions>;
  readonly #windows = new Map<string, Window>();
  #cleanedAt: number;

  constructor(options: WindowOptions) {
    this.#options = { take: takePoints, clock: () => performance.now(), ...options };
    this.#cleanedAt = this.#options.clock();
  }

  get limit(): number {
    return this.#options.limit;
  }

  async consume(key: string): Promise<Taken> {
    const { clock, limit } = this.#options;
    const now = clock();
    this.#clean(now);
    const window: Window = this.#windows.get(key) ?? { lease: null, waiting: [], taking: false };
    this.#windows.set(key, window);
    const { lease } = window;
    if (lease && lease.endsAt > now && !window.taking) {
      if (lease.held > 0) return handOut(lease, now);
      // All points of the window are leased, so the database is not queried again until the window ends.
      if (lease.untaken === 0) return { admitted: false, remaining: 0, msLeft: lease.endsAt - now };
    }
    const mine = await this.#next(key, window);
    const later = clock();
    if (mine.held > 0) return handOut(mine, later);
    return { admitted: false, remaining: Math.min(mine.untaken, limit), msLeft: Math.max(1, mine.endsAt - later) };
  }

  /** Resolves to a lease for all waiting requests. If it has too few points, the last of the requests are refused. */
  #next(key: string, window: Window): Promise<Lease> {
    return new Promise((resolve) => {
      window.waiting.push(resolve);
      if (!window.taking) void this.#takeFor(key, window);
    });
  }

  async #takeFor(key: string, window: Window): Promise<void> {
    const { db, name, limit, windowMs, take, clock } = this.#options;
    window.taking = true;
    while (window.waiting.length > 0) {
      const waiting = window.waiting.splice(0);
      const asked = clock();
      const current = window.lease !== null && window.lease.endsAt > asked ? window.lease : null;
      if (current && current.held >= waiting.length) {
        await serve(current, waiting);
        continue;
      }
      const wanted = pointsToTake(limit, waiting.length, current);
      const count = await take(db, `${name}:${key}`, wanted, windowMs).catch(() => null);
      // The end is computed from the time before the query, so that no point is used after the window's end.
      const lease = count
        ? leaseOf(limit, wanted, count.points, asked + Math.max(1, count.left))
        : alone(current, limit, asked + windowMs);
      // If the window has not ended meanwhile, this process also keeps the points that it has not used yet.
      if (current && count && Math.abs(lease.endsAt - current.endsAt) < windowMs / 2) lease.held += current.held;
      window.lease = lease;
      await serve(lease, waiting);
    }
    window.taking = false;
  }

  #clean(now: number): void {
    if (now - this.#cleanedAt < CLEANED_MS) return;
    this.#cleanedAt = now;
    for (const [key, { lease, taking }] of this.#windows) {
      if (!taking && lease && lease.endsAt <= now) this.#windows.delete(key);
    }
  }
}

/** Resolves once each waiting request has taken its point or was refused. */
async function serve(lease: Lease, waiting: readonly ((lease: Lease) => void)[]): Promise<void> {
  for (const resolve of waiting) resolve(lease);
  await Promise.resolve();
}

function handOut(lease: Lease, now: number): Taken {
  lease.held -= 1;
  return { admitted: true, remaining: lease.held + lease.untaken, msLeft: Math.max(1, lease.endsAt - now) };
}

/**
 * Without the database, a process may use all points that it last saw unused. In a new window, it may use the whole
 * limit.
 */
function alone(current: Lease | null, limit: number, endsAt: number): Lease {
  if (current && current.held + current.untaken > 0)
    return { ...current, held: current.held + current.untaken, untaken: 0 };
  return current ?? { held: limit, untaken: 0, endsAt };
}
