import { createRequire } from 'node:module';
import type * as Ioredis from 'ioredis';
import { lazily } from './lazily.js';

export type { Redis, RedisOptions } from 'ioredis';

/** Loads the Redis client on first use, which saves 2 MiB in processes whose queues are in PostgreSQL. */
export const loadRedisClient = lazily(() => createRequire(import.meta.url)('ioredis') as typeof Ioredis);
