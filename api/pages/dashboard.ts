import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { KoaAdapter } from '@bull-board/koa';
import type { Middleware } from 'koa';
import type { Config } from '../../shared/core/config.js';
import { AppError } from '../../shared/core/errors.js';
import type { Engine, JobQueue } from '../../shared/queues/engine.js';
import type { Operators } from '../auth/operators.js';
import { senderOf } from '../http/origin.js';
import type { ApiMiddleware } from '../http/state.js';

export const DASHBOARD_PATH = '/admin/queues';

/** Nothing outside this server is loaded. */
const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; form-action 'self'";

/** Bull Board for our queues, with basic authentication. It is absent if no credentials are configured. */
export function dashboard({ config, engine }: { config: Config; engine: Engine }, operators: Operators): ApiMiddleware {
  if (!config.dashboard) return (_, next) => next();
  const board = createBoard(engine);
  return async (ctx, next) => {
    if (ctx.path !== DASHBOARD_PATH && !ctx.path.startsWith(`${DASHBOARD_PATH}/`)) return next();
    if (!(await operators.proves(ctx))) {
      ctx.set('WWW-Authenticate', 'Basic realm="ranvier queues", charset="UTF-8"');
      ctx.status = 401;
      ctx.body = 'The user name and the password of the dashboard are needed';
      return;
    }
    // Browsers add basic credentials to requests of other sites too. A change must come from our own page.
    const changes = !['GET', 'HEAD'].includes(ctx.method);
    if (changes && senderOf(ctx, config.publicUrl) !== 'own') throw refusedChange();
    ctx.set('Content-Security-Policy', POLICY);
    ctx.set('Referrer-Policy', 'same-origin');
    await board(ctx, next);
    if (ctx.response.is('html') && typeof ctx.body === 'string') ctx.body = ctx.body.replace(ELSEWHERE, '');
  };
}

/** The board's page loads a font from another host. The policy would block it with an error in the console. */
const ELSEWHERE = /<link\b[^>]*\bhref="https?:[^>]*>/g;

function refusedChange(): AppError {
  return new AppError('csrf_failed', "A change needs the Origin or Referer of the dashboard's own page");
}

/** BullMQ's type lacks `paused`, which its PostgreSQL backend counts separately. */
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

function createBoard(engine: Engine): Middleware {
  const serverAdapter = new KoaAdapter();
  serverAdapter.setBasePath(DASHBOARD_PATH);
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

/** Gives the board what only Redis reports: paused jobs counted as waiting, and workers with an address. */
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

  override async getWorkers(): ReturnType<BullMQAdapter['getWorkers']> {
    const workers = await this.#queue.getWorkers();
    return workers.map(({ name, rawname }, index) => ({
      id: String(index),
      name: rawname?.split(':w:')[1] ?? name ?? '',
      addr: 'postgres',
      age: 0,
    })) as Awaited<ReturnType<BullMQAdapter['getWorkers']>>;
  }
}
