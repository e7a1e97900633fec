import { createRequire } from 'node:module';
import type * as Limiters from 'rate-limiter-flexible';

/** The parts of rate-limiter-flexible that are used. The paths are those of the one version that package.json names. */
const load = createRequire(import.meta.url);

export type RateLimiterPostgres = Limiters.RateLimiterPostgres;
export const RateLimiterPostgres = load(
  'rate-limiter-flexible/lib/RateLimiterPostgres.js',
) as typeof Limiters.RateLimiterPostgres;
export const RateLimiterMemory = load(
  'rate-limiter-flexible/lib/RateLimiterMemory.js',
) as typeof Limiters.RateLimiterMemory;
export const RateLimiterRes = load('rate-limiter-flexible/lib/RateLimiterRes.js') as typeof Limiters.RateLimiterRes;
