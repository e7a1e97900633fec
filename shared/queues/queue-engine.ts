import { Queue, type WorkerOptions } from 'bullmq';
import type { Config } from '../core/config.js';
import { AppError } from '../core/error-registry.js';
import type { Logger } from '../core/log.js';
import { loadRedisClient, type Redis, type RedisOptions } from '../core/redis-client.js';
import { withTimeLimit } from '../core/time-limit.js';
import { BullPool, bullBackend } from './bull-pool.js';
import { removeOldJobs } from './old-jobs.js';
import { jobId, type NewJob, QUEUE_NAMES, QUEUES, type QueueName } from './work-catalog.js';

export type JobQueue = Queue;

export type EngineConfig = Pick<Config, 'databaseUrl' | 'redisUrl'>;

interface WorkerConnection {
  connection: WorkerOptions['connection'];
  /**
   * BullMQ's factory for its PostgreSQL backend; undefined for Redis. Its declared type is `undefined`, so that one
   * call of the Worker constructor fits both backends.
   */
  backendFactory: undefined;
  /** Seconds after which an idle worker asks for jobs. A new job or a lost connection wakes it sooner. */
  drainDelay: number;
}

const DRAINED_S = { redis: 10, postgres: 300 } as const;

const PING_MS = 1000;
const CONNECT_MS = 20_000;
const PENDING_STATES = ['active', 'waiting', 'delayed', 'prioritized', 'waiting-children', 'paused'];

/** BullMQ on Redis if REDIS_URL is set, otherwise on PostgreSQL. */
export interface Engine {
  readonly backend: 'redis' | 'postgres';
  readonly queues: Readonly<Record<QueueName, JobQueue>>;
  /** Throws `engine_unavailable` if the engine does not respond within a second. */
  ping(): Promise<void>;
  /** Enqueues jobs. Does not change an existing job with the same id. */
  add(jobs: readonly NewJob[]): Promise<void>;
  removeOldJobs(): Promise<number>;
  /** Returns true if the job is running, or will run without being enqueued again. */
  isPending(queue: QueueName, recordId: string, dispatch: number): Promise<boolean>;
  workerConnection(): WorkerConnection;
  /**
   * Wakes workers for jobs whose delay is over. A waiting worker wakes by itself only for jobs that were delayed before
   * it began to wait. If another worker delays a job later and then dies, no worker would wake for that job in time.
   */
  announceDelayed(): Promise<unknown>;
  /** Sets how many workers are online. */
  shareWith(workers: number): void;
  close(): Promise<void>;
}

interface Backend extends Pick<Engine, 'workerConnection' | 'announceDelayed' | 'shareWith' | 'close'> {
  readonly name: Engine['backend'];
  /** More jobs than this are added to a queue in one command instead of one by one. */
  readonly addedSingly: number;
  /** True if BullMQ deletes old jobs whenever a job finishes. If false, a sweep deletes them. */
  readonly removesAtEnd: boolean;
  createQueue(name: QueueName): JobQueue;
  ping(): Promise<unknown>;
}

/**
 * Connects to the queue engine. Throws if Redis is configured but unreachable. `name` is the name that Redis or
 * PostgreSQL shows for the connections.
 */
export async function createEngine(config: EngineConfig, log: Logger, name: string): Promise<Engine> {
  const backend = config.redisUrl
    ? await redisBackend(config.redisUrl.reveal(), name, log)
    : postgresBackend(config.databaseUrl.reveal(), name, log);
  const created = QUEUE_NAMES.map((queue) => [queue, backend.createQueue(queue)]);
  const queues = Object.fromEntries(created) as Record<QueueName, JobQueue>;
  for (const queue of Object.values(queues))
    queue.on('error', (error) => log.warn({ queue: queue.name }, error.message));

  return {
    backend: backend.name,
    queues,
    ping: () => ping(backend),
    async add(jobs) {
      for (const queue of QUEUE_NAMES) {
        const mine = jobs.filter((job) => job.queue === queue).map((job) => toBullJob(job, backend));
        if (mine.length > backend.addedSingly) await queues[queue].addBulk(mine);
        else for (const { name, data, opts } of mine) await queues[queue].add(name, data, opts);
      }
    },
    async removeOldJobs() {
      return backend.removesAtEnd ? 0 : removeOldJobs(Object.values(queues));
    },
    async isPending(queue, recordId, dispatch) {
      const state = await queues[queue].getJobState(jobId(queue, recordId, dispatch));
      return PENDING_STATES.includes(state);
    },
    workerConnection: backend.workerConnection,
    announceDelayed: backend.announceDelayed,
    shareWith: backend.shareWith,
    async close() {
      await Promise.all(Object.values(queues).map((queue) => queue.close()));
      await backend.close();
    },
  };
}

function toBullJob({ queue, recordId, dispatch, payload }: NewJob, { removesAtEnd }: Backend) {
  const { attempts, backoff, keepCompleted, keepFailed } = QUEUES[queue];
  return {
    name: queue,
    data: payload,
    opts: {
      jobId: jobId(queue, recordId, dispatch),
      attempts,
      backoff,
      ...(removesAtEnd ? { removeOnComplete: keepCompleted, removeOnFail: keepFailed } : {}),
    },
  };
}

async function ping(backend: Backend): Promise<void> {
  try {
    await withTimeLimit(backend.ping(), PING_MS, () => new Error('no answer'));
  } catch {
    throw new AppError('engine_unavailable');
  }
}

async function redisBackend(url: string, name: string, log: Logger): Promise<Backend> {
  const { Redis } = loadRedisClient();
  const options: RedisOptions = {
    connectionName: name,
    // Without an offline queue, requests fail immediately during an outage instead of waiting.
    enableOfflineQueue: false,
    maxRetriesPerRequest: null,
    retryStrategy: (times) => Math.min(times * 100, 2000),
  };
  const redis = new Redis(url, options);
  redis.on('error', (error) => log.warn(`redis: ${error.message}`));
  await waitUntilReady(redis);
  const ofWorkers: Redis[] = [];
  return {
    name: 'redis',
    addedSingly: 1,
    removesAtEnd: true,
    createQueue: (queue) => new Queue(queue, { connection: redis, skipWaitingForReady: true }),
    ping: () => redis.ping(),
    // A worker, unlike a request, can wait until an outage of Redis is over.
    workerConnection: () => {
      const connection = redis.duplicate({ enableOfflineQueue: true });
      ofWorkers.push(connection);
      return { connection, backendFactory: undefined, drainDelay: DRAINED_S.redis };
    },
    // An idle worker asks Redis for jobs again within ten seconds, so it finds delayed jobs by itself.
    announceDelayed: async () => undefined,
    // Redis gives each job to only one of the workers that ask, so the workers need not take turns.
    shareWith: () => undefined,
    async close() {
      // A worker does not close a connection that was passed to it.
      for (const connection of [redis, ...ofWorkers]) connection.disconnect();
    },
  };
}

/** Redis may be starting together with the platform. */
async function waitUntilReady(redis: Redis): Promise<void> {
  const ready = new Promise((resolve) => redis.once('ready', resolve));
  const late = () => new Error('Redis cannot be reached: check REDIS_URL, and that the server runs');
  try {
    await withTimeLimit(ready, CONNECT_MS, late);
  } catch (error) {
    redis.disconnect();
    throw error;
  }
}

const POOL_SIZE = 10;

function postgresBackend(url: string, name: string, log: Logger): Backend {
  const pool = new BullPool(url, `${name}-queues`, POOL_SIZE);
  pool.on('error', (error) => log.warn(`queue connection: ${error.message}`));
  const backend = bullBackend(pool);
  // BullMQ's types assume Redis unless every call names the backend. With this cast, other code need not name it.
  const connection: WorkerConnection = {
    connection: pool as unknown as WorkerOptions['connection'],
    backendFactory: backend.create as unknown as undefined,
    drainDelay: DRAINED_S.postgres,
  };
  return {
    name: 'postgres',
    // Adding jobs together creates two temporary tables. That catalog change makes every connection of the database
    // recheck its prepared statements and reload its table metadata, which costs more than ten single additions.
    addedSingly: 16,
    // On PostgreSQL, deleting old jobs when a job finishes would read every retained job of the queue.
    removesAtEnd: false,
    createQueue: (queue) => new Queue(queue, { connection: connection.connection }, connection.backendFactory),
    ping: () => pool.query('select 1'),
    workerConnection: () => connection,
    announceDelayed: () => pool.announceDelayed(),
    shareWith: (workers) => backend.shareWith(workers),
    async close() {
      await backend.close();
      await pool.end();
    },
  };
}
