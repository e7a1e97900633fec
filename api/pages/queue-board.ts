import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { KoaAdapter } from '@bull-board/koa';
import type { Middleware } from 'koa';
import { LISTENER } from '../../shared/queues/bull-pool.js';
import type { Engine, JobQueue } from '../../shared/queues/queue-engine.js';

/** The job states to count. BullMQ's type lacks the state `paused`, which its PostgreSQL backend counts separately. */
const COUNTED = [
  'active',
  'completed',
  'delayed',
  'failed',
  'prioritized',
  'waiting',
  'waiting-children',
  'paused',
] as Parameters<JobQueue['getJobCounts']>;

/** Returns the middleware that serves the dashboard of the job queues (Bull Board) at a path. */
export function createBoard(engine: Engine, path: string): Middleware {
  const serverAdapter = new KoaAdapter();
  serverAdapter.setBasePath(path);
  const queues = Object.values(engine.queues).map((queue) =>
    engine.backend === 'postgres' ? new PostgresQueueAdapter(queue) : new BullMQAdapter(queue),
  );
  createBullBoard({
    queues,
    serverAdapter,
    options: { uiConfig: { boardTitle: 'Ranvier', hideRedisDetails: engine.backend === 'postgres' } },
  });
  return serverAdapter.registerPlugin() as Middleware;
}

/** BullMQ reports job counts and workers differently with PostgreSQL than with Redis. */
class PostgresQueueAdapter extends BullMQAdapter {
  readonly #queue: JobQueue;

  constructor(queue: JobQueue) {
    super(queue);
    this.#queue = queue;
  }

  override async getJobCounts(): ReturnType<BullMQAdapter['getJobCounts']> {
    const { paused = 0, waiting = 0, ...counts } = await this.#queue.getJobCounts(...COUNTED);
    return { ...counts, waiting: waiting + paused } as Awaited<ReturnType<BullMQAdapter['getJobCounts']>>;
  }

  /** Each worker process has one database connection whose name ends with `LISTENER`. */
  override async getWorkers(): ReturnType<BullMQAdapter['getWorkers']> {
    const clients = (await this.#queue.backend.getClientList()).flatMap((list) => list.split('\n'));
    const names = clients.map((client) => client.replace(/^name=/, '')).filter((name) => name.endsWith(LISTENER));
    return names.map((name, index) => ({ id: String(index), name, addr: 'postgres', age: 0 })) as Awaited<
      ReturnType<BullMQAdapter['getWorkers']>
    >;
  }
}
