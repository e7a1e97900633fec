import { createHash, timingSafeEqual } from 'node:crypto';
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { KoaAdapter } from '@bull-board/koa';
import type { Middleware } from 'koa';
import type { Config } from '../shared/config.js';
import { AppError } from '../shared/errors.js';
import type { Engine, JobQueue } from '../shared/queues/engine.js';
import type { ApiMiddleware } from './state.js';

export const DASHBOARD_PATH = '/admin/queues';

/** The board's page names a font service; nothing outside this server is loaded. */
const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; form-action 'self'";

/** Bull Board over our queues, behind basic authentication; absent where no credentials are configured. */
export function dashboard({ config, engine }: { config: Config; engine: Engine }): ApiMiddleware {
  const credentials = config.dashboard;
  if (!credentials) return (_, next) => next();
  const board = createBoard(engine);
  return async (ctx, next) => {
    if (ctx.path !== DASHBOARD_PATH && !ctx.path.startsWith(`${DASHBOARD_PATH}/`)) return next();
    if (!isAuthorized(ctx.get('Authorization'), credentials)) {
      ctx.set('WWW-Authenticate', 'Basic realm="ranvier queues", charset="UTF-8"');
      ctx.status = 401;
      ctx.body = 'The user name and the password of the dashboard are needed';
      return;
    }
    // Browsers send basic credentials along with requests that other sites make.
    const origin = ctx.get('Sec-Fetch-Site');
    if (!['GET', 'HEAD'].includes(ctx.method) && !['', 'same-origin'].includes(origin))
      throw new AppError('csrf_failed');
    ctx.set('Content-Security-Policy', POLICY);
    ctx.set('Referrer-Policy', 'no-referrer');
    await board(ctx, next);
  };
}

/** BullMQ's type leaves `paused` out, which its PostgreSQL backend counts apart. */
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

/** The board expects of a queue what only Redis gives: paused jobs among the waiting ones, workers with an address. */
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

function isAuthorized(header: string, { user, password }: NonNullable<Config['dashboard']>): boolean {
  const [, encoded = ''] = /^basic +([A-Za-z0-9+/=]+)$/i.exec(header.trim()) ?? [];
  const given = Buffer.from(encoded, 'base64').toString('utf8');
  return timingSafeEqual(digest(given), digest(`${user}:${password.reveal()}`));
}

/** Equal lengths for a comparison in constant time. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
