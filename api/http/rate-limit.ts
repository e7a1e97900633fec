import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import type { Config } from '../../shared/core/config.js';
import type { Db } from '../../shared/core/database/database-client.js';
import { AppError } from '../../shared/core/error-registry.js';
import { clientOf } from './client-identity.js';
import type { ApiContext, ApiStep } from './request-state.js';
import { SharedWindows, type Taken } from './shared-rate-limit.js';

const MINUTE = 60;

export type Limiter = Pick<RateLimiterPostgres, 'consume' | 'reward' | 'points'>;

/** Creates a rate limit that all API processes share. Without the database, each process counts separately. */
export function createLimiter(db: Db, name: string, points: number, seconds = MINUTE): Limiter {
  const window = { keyPrefix: name, points, duration: seconds };
  return new RateLimiterPostgres({
    ...window,
    storeClient: db,
    storeType: 'knex',
    tableName: 'rate_limits',
    tableCreated: true,
    // At exactly the limit, the database is still asked, because `reward` may have returned a point.
    inMemoryBlockOnConsumed: points + 1,
    insuranceLimiter: new RateLimiterMemory(window),
  });
}

function readsAndWrites(db: Db, name: string, limits: Config['rateLimits']): (ctx: ApiContext) => SharedWindows {
  const windowMs = MINUTE * 1000;
  const read = new SharedWindows({ db, name: `${name}read`, limit: limits.readsPerMinute, windowMs });
  const write = new SharedWindows({ db, name: `${name}write`, limit: limits.writesPerMinute, windowMs });
  return (ctx) => (ctx.state.route.method === 'GET' ? read : write);
}

/** Limits the requests of each credential, reads and writes separately (specification, Limits). */
export function rateLimit(db: Db, limits: Config['rateLimits']): ApiStep {
  const limiter = readsAndWrites(db, '', limits);
  return (ctx) => take(ctx, limiter(ctx), ctx.state.caller.credentialId);
}

/** Limits the requests of each client, for routes that need no credential. */
export function clientRateLimit(db: Db, limits: Config['rateLimits']): ApiStep {
  const limiter = readsAndWrites(db, 'address-', limits);
  return async (ctx) => take(ctx, limiter(ctx), await clientOf(ctx));
}

/** Limits the failed authentications of a client. */
export interface FailureLimit {
  count(ctx: ApiContext): Promise<void>;
}

export function createFailureLimit(db: Db, limits: Config['rateLimits']): FailureLimit {
  const limiter = createLimiter(db, 'failure', limits.readsPerMinute);
  return { count: async (ctx) => consume(ctx, limiter, await clientOf(ctx)) };
}

const MAILS_AN_HOUR = 5;

/** Limits the number of e-mails that one user can trigger. */
export interface MailLimit {
  take(ctx: ApiContext, userId: string): Promise<void>;
}

export function createMailLimit(db: Db): MailLimit {
  const limiter = createLimiter(db, 'mail', MAILS_AN_HOUR, 60 * MINUTE);
  return { take: (ctx, userId) => consume(ctx, limiter, userId) };
}

/** Takes one point from a limiter and sets the RateLimit headers. Throws `rate_limited` if none is left. */
export async function consume(ctx: ApiContext, limiter: Limiter, key: string): Promise<void> {
  const { state, admitted } = await limiter.consume(key).then(
    (taken) => ({ state: taken, admitted: true }),
    (refused: unknown) => {
      if (refused instanceof RateLimiterRes) return { state: refused, admitted: false };
      throw refused;
    },
  );
  answer(ctx, limiter.points, { admitted, remaining: state.remainingPoints, msLeft: state.msBeforeNext });
}

async function take(ctx: ApiContext, windows: SharedWindows, key: string): Promise<void> {
  answer(ctx, windows.limit, await windows.consume(key));
}

function answer(ctx: ApiContext, limit: number, { admitted, remaining, msLeft }: Taken): void {
  const reset = String(Math.max(1, Math.ceil(msLeft / 1000)));
  ctx.set('RateLimit-Limit', String(limit));
  ctx.set('RateLimit-Remaining', String(Math.max(0, remaining)));
  ctx.set('RateLimit-Reset', reset);
  if (admitted) return;
  ctx.set('Retry-After', reset);
  throw new AppError('rate_limited');
}
