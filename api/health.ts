import Router from '@koa/router';
import { assertMigrated } from '../shared/db/migrate.js';
import { errorMessage } from '../shared/errors.js';
import type { ApiDeps } from './context.js';
import type { ApiState } from './state.js';

/** `/healthz`: the process is up. `/readyz`: it can do its work. `/metrics`: for Prometheus. None of them tells a secret. */
export function healthRouter({ db, engine, metrics, isEnding }: ApiDeps): Router<ApiState> {
  const router = new Router<ApiState>();
  router.get('/healthz', (ctx) => {
    ctx.body = { status: 'ok' };
  });
  router.get('/readyz', async (ctx) => {
    const problem = isEnding() ? 'the process is ending' : await firstProblem(() => assertMigrated(db), engine.ping);
    ctx.status = problem === null ? 200 : 503;
    ctx.body = problem === null ? { status: 'ready' } : { status: 'unavailable', reason: problem };
  });
  router.get('/metrics', async (ctx) => {
    const text = await metrics.scrape();
    ctx.set('Content-Type', metrics.contentType);
    ctx.body = text;
  });
  return router;
}

async function firstProblem(...checks: (() => Promise<void>)[]): Promise<string | null> {
  try {
    for (const check of checks) await check();
    return null;
  } catch (error) {
    return errorMessage(error);
  }
}
