import { createRequire } from 'node:module';
import type * as Ioredis from 'ioredis';
import { lazily } from './lazily.js';

export type { Redis, RedisOptions } from 'ioredis';

/** The client of Redis. Processes whose queues are on PostgreSQL do without its 2 MiB. */
export const loadRedisClient = lazily(() => createRequire(import.meta.url)('ioredis') as typeof Ioredis);
