import { createRequire } from 'node:module';
import type * as Ioredis from 'ioredis';
import { lazily } from './lazily.js';

export type { Redis, RedisOptions } from 'ioredis';

/** Loads the Redis client on first use. Processes with queues on PostgreSQL save its 2 MiB. */
export const loadRedisClient = lazily(() => createRequire(import.meta.url)('ioredis') as typeof Ioredis);
