import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import type { Config } from '../../shared/config.js';
import type { Db } from '../../shared/db/client.js';
import { POLICIES } from '../../shared/domain/policy.js';
import { AppError } from '../../shared/errors.js';
import type { ApiContext, ApiMiddleware } from '../state.js';

const WINDOW_SECONDS = 60;

type Limiter = Pick<RateLimiterPostgres, 'consume' | 'points'>;

/** A window of a minute, shared by all API processes. While the database cannot count, this process counts alone. */
function createLimiter(db: Db, name: string, points: number): Limiter {
  const window = { keyPrefix: name, points, duration: WINDOW_SECONDS };
  return new RateLimiterPostgres({
    ...window,
    storeClient: db,
    storeType: 'knex',
    tableName: 'rate_limits',
    tableCreated: true,
    inMemoryBlockOnConsumed: points,
    insuranceLimiter: new RateLimiterMemory(window),
  });
}

/** Limits each credential, reads and writes apart (specification, Limits; design, Rate limits). */
export function rateLimit(db: Db, limits: Config['rateLimits']): ApiMiddleware {
  const limiters = {
    read: createLimiter(db, 'read', limits.readsPerMinute),
    write: createLimiter(db, 'write', limits.writesPerMinute),
  };
  return async (ctx, next) => {
    const { access } = POLICIES[ctx.state.route.operation];
    await consume(ctx, limiters[access], ctx.state.caller.credentialId);
    await next();
  };
}

/** Counts failed authentications of an address; callers who prove who they are never meet it. */
export interface FailureLimit {
  count(ctx: ApiContext): Promise<void>;
}

export function createFailureLimit(db: Db, limits: Config['rateLimits']): FailureLimit {
  const limiter = createLimiter(db, 'failure', limits.readsPerMinute);
  return { count: (ctx) => consume(ctx, limiter, ctx.ip) };
}

/** Takes one point, tells the caller how many are left, and throws `rate_limited` where there is none. */
async function consume(ctx: ApiContext, limiter: Limiter, key: string): Promise<void> {
  const { state, exceeded } = await limiter.consume(key).then(
    (taken) => ({ state: taken, exceeded: false }),
    (refused: unknown) => {
      if (refused instanceof RateLimiterRes) return { state: refused, exceeded: true };
      throw refused;
    },
  );
  const reset = Math.max(1, Math.ceil(state.msBeforeNext / 1000));
  ctx.set('RateLimit-Limit', String(limiter.points));
  ctx.set('RateLimit-Remaining', String(Math.max(0, state.remainingPoints)));
  ctx.set('RateLimit-Reset', String(reset));
  if (!exceeded) return;
  ctx.set('Retry-After', String(reset));
  throw new AppError('rate_limited');
}
