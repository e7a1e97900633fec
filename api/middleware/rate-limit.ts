import { createHash } from 'node:crypto';
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import type { Config } from '../../shared/config.js';
import type { Db } from '../../shared/db/client.js';
import { AppError } from '../../shared/errors.js';
import type { ApiContext, ApiMiddleware } from '../state.js';

const MINUTE = 60;

type Limiter = Pick<RateLimiterPostgres, 'consume' | 'reward' | 'points'>;

/** A window that all API processes share. While the database cannot count, this process counts alone. */
function createLimiter(db: Db, name: string, points: number, seconds = MINUTE): Limiter {
  const window = { keyPrefix: name, points, duration: seconds };
  return new RateLimiterPostgres({
    ...window,
    storeClient: db,
    storeType: 'knex',
    tableName: 'rate_limits',
    tableCreated: true,
    // Beyond the last point, so that a point that is given back counts at once.
    inMemoryBlockOnConsumed: points + 1,
    insuranceLimiter: new RateLimiterMemory(window),
  });
}

function readsAndWrites(db: Db, name: string, limits: Config['rateLimits']): (ctx: ApiContext) => Limiter {
  const read = createLimiter(db, `${name}read`, limits.readsPerMinute);
  const write = createLimiter(db, `${name}write`, limits.writesPerMinute);
  return (ctx) => (ctx.state.route.method === 'GET' ? read : write);
}

/** Limits each credential, reads and writes apart (specification, Limits; design, Rate limits). */
export function rateLimit(db: Db, limits: Config['rateLimits']): ApiMiddleware {
  const limiter = readsAndWrites(db, '', limits);
  return async (ctx, next) => {
    await consume(ctx, limiter(ctx), ctx.state.caller.credentialId);
    await next();
  };
}

/** The same for requests that need no credential, by the address they come from. */
export function addressRateLimit(db: Db, limits: Config['rateLimits']): ApiMiddleware {
  const limiter = readsAndWrites(db, 'address-', limits);
  return async (ctx, next) => {
    await consume(ctx, limiter(ctx), ctx.ip);
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

/** Slows the guessing of a secret down: of one account by many addresses, and of many accounts by one address. */
export interface GuessLimit {
  /** Takes one try of both. Throws rate_limited; returns how to give it back after a right guess. */
  take(ctx: ApiContext, account: string): Promise<() => Promise<void>>;
}

const GUESS_SECONDS = 300;
const GUESSES = { account: 10, address: 50 };

/** `name` tells one kind of secret from another. */
export function createGuessLimit(db: Db, name: string): GuessLimit {
  const accounts = createLimiter(db, `${name}-account`, GUESSES.account, GUESS_SECONDS);
  const addresses = createLimiter(db, `${name}-address`, GUESSES.address, GUESS_SECONDS);
  return {
    async take(ctx, account) {
      // An account's name may be as long as the column is wide.
      const key = createHash('sha256').update(account).digest('hex');
      await consume(ctx, addresses, ctx.ip);
      await consume(ctx, accounts, key);
      return async () => {
        await accounts.reward(key);
        await addresses.reward(ctx.ip);
      };
    },
  };
}

const MAILS_AN_HOUR = 5;

/** How many mails a person can make us send. */
export interface MailLimit {
  take(ctx: ApiContext, userId: string): Promise<void>;
}

export function createMailLimit(db: Db): MailLimit {
  const limiter = createLimiter(db, 'mail', MAILS_AN_HOUR, 60 * MINUTE);
  return { take: (ctx, userId) => consume(ctx, limiter, userId) };
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
