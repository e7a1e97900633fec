import Router from '@koa/router';
import { assertMigrated } from '../../shared/core/database/migrate.js';
import { AppError, errorMessage } from '../../shared/core/error-registry.js';
import { sameSecret } from '../../shared/secrets/random-token.js';
import { bearerToken } from '../auth/authenticate.js';
import type { Operators } from '../auth/operators.js';
import type { ApiDeps } from './api-deps.js';
import type { ApiContext, ApiState } from './request-state.js';

/** Checks are cached for this time, because a check queries the database and the queues, and anyone may request it. */
const CACHE_TTL_MS = 1000;

/** Serves `/healthz` (the process runs) and `/readyz` (it can serve requests). Neither requires a credential. */
export function healthRouter({ db, engine, isEnding, log }: ApiDeps): Router<ApiState> {
  const router = new Router<ApiState>();
  let latest: { at: number; problem: Promise<string | null> } | null = null;

  async function look(): Promise<string | null> {
    try {
      await assertMigrated(db);
    } catch (error) {
      log.warn(`not ready, the database: ${errorMessage(error)}`);
      return 'the database cannot be used';
    }
    try {
      await engine.ping();
    } catch (error) {
      log.warn(`not ready, the queues: ${errorMessage(error)}`);
      return 'the queues cannot be used';
    }
    return null;
  }

  router.get('/healthz', (ctx) => {
    ctx.body = { status: 'ok' };
  });
  router.get('/readyz', async (ctx) => {
    if (!latest || performance.now() - latest.at > CACHE_TTL_MS) latest = { at: performance.now(), problem: look() };
    const problem = isEnding() ? 'the process is ending' : await latest.problem;
    ctx.status = problem === null ? 200 : 503;
    ctx.body = problem === null ? { status: 'ready' } : { status: 'unavailable', reason: problem };
  });
  return router;
}

/** Serves `/metrics` of all workspaces. Requires METRICS_TOKEN or the dashboard's user and password. */
export function metricsRouter({ config, metrics }: ApiDeps, operators: Operators): Router<ApiState> {
  const router = new Router<ApiState>();
  const hasToken = (ctx: ApiContext) =>
    config.metricsToken !== null && sameSecret(bearerToken(ctx.get('Authorization')), config.metricsToken.reveal());
  router.get('/metrics', async (ctx) => {
    if (!hasToken(ctx) && !(await operators.proves(ctx))) {
      throw new AppError(
        'unauthenticated',
        "Send METRICS_TOKEN as a bearer token, or the dashboard's user name and password",
      );
    }
    const text = await metrics.scrape();
    ctx.set('Content-Type', metrics.contentType);
    ctx.body = text;
  });
  return router;
}
