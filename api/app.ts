import Router from '@koa/router';
import Koa from 'koa';
import { CursorCodec } from '../shared/domain/cursor.js';
import { CsrfTokens } from '../shared/secrets/csrf.js';
import type { ApiDeps, AppDeps } from './context.js';
import { dashboard } from './dashboard.js';
import { docsRouter } from './docs.js';
import { healthRouter } from './health.js';
import { Metrics } from './metrics.js';
import { accessLog } from './middleware/access-log.js';
import { authenticate } from './middleware/authenticate.js';
import { authorize } from './middleware/authorize.js';
import { body } from './middleware/body.js';
import { csrf } from './middleware/csrf.js';
import { errors } from './middleware/errors.js';
import { headers } from './middleware/headers.js';
import { performRead, performWrite } from './middleware/perform.js';
import { createFailureLimit, rateLimit } from './middleware/rate-limit.js';
import { requestId } from './middleware/request-id.js';
import { validate } from './middleware/validate.js';
import { sessionRouter } from './resources/session/router.js';
import type { Route } from './route.js';
import { API_ROOT, ROUTES } from './routes.js';
import { createAjv } from './schema.js';
import type { ApiState } from './state.js';
import { verifyRouter } from './verify-page.js';

/** The application; it never listens. The order in which a request passes is the order on this page. */
export function createApp(appDeps: AppDeps): Koa<ApiState> {
  const { db, engine, config, log, isEnding } = appDeps;
  const secret = Buffer.from(config.secretsKey.reveal(), 'base64');
  const deps: ApiDeps = {
    ...appDeps,
    metrics: new Metrics(db, engine),
    cursors: new CursorCodec(secret),
    csrf: new CsrfTokens(secret),
  };
  const health = healthRouter(deps);
  const docs = docsRouter();
  const verify = verifyRouter();
  const sessions = sessionRouter(deps);
  const api = apiRouter(deps);

  // With one proxy, the last address of X-Forwarded-For is the one it saw itself.
  const app = new Koa<ApiState>({ proxy: config.trustProxy, maxIpsCount: 1 });
  app.on('error', (error) => log.error({ err: error }, 'a response could not be sent'));
  app.use(requestId(log));
  app.use(accessLog(deps.metrics));
  app.use(errors());
  app.use(headers(isEnding));
  app.use(health.routes()).use(health.allowedMethods());
  app.use(dashboard(deps));
  app.use(docs.routes()).use(docs.allowedMethods());
  app.use(verify.routes()).use(verify.allowedMethods());
  app.use(sessions.routes()).use(sessions.allowedMethods());
  app.use(api.routes()).use(api.allowedMethods());
  return app;
}

/** Every route with its own pipeline. */
function apiRouter(deps: ApiDeps): Router<ApiState> {
  const router = new Router<ApiState>({ prefix: API_ROOT, sensitive: true, strict: true });
  const ajv = createAjv();
  const identify = authenticate(deps, createFailureLimit(deps.db, deps.config.rateLimits));
  const limit = rateLimit(deps.db, deps.config.rateLimits);
  const checkCsrf = csrf(deps);
  const read = body();
  for (const route of ROUTES) {
    router.register(
      route.path,
      [route.method],
      [
        (ctx, next) => {
          ctx.state.route = route;
          return next();
        },
        identify,
        limit,
        checkCsrf,
        authorize(deps, route),
        read,
        validate(ajv, route),
        perform(deps, route),
      ],
    );
  }
  return router;
}

function perform(deps: ApiDeps, route: Route) {
  if (route.read) return performRead(deps, route.read);
  if (route.write) return performWrite(deps, route.operation, route.write);
  throw new Error(`${route.method} ${route.path} has no handler`);
}
