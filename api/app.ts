import Router from '@koa/router';
import Koa from 'koa';
import { lazily } from '../shared/core/lazily.js';
import { authenticate } from './auth/authenticate.js';
import { authorize } from './auth/authorize.js';
import { transport } from './auth/cookies.js';
import { csrf, signInCsrf } from './auth/csrf.js';
import { CsrfTokens } from './auth/csrf-token.js';
import { createGuessLimit } from './auth/guess-limit.js';
import { HashGate } from './auth/hash-gate.js';
import { Operators } from './auth/operators.js';
import { serveGit } from './git/serve-git.js';
import { receiveHook } from './hooks/receive-hook.js';
import { accessLog } from './http/access-log.js';
import { answerInTurn, requestTurns } from './http/answer-in-turn.js';
import type { ApiDeps, AppDeps } from './http/api-deps.js';
import { CursorCodec } from './http/cursor.js';
import { errors } from './http/error-responses.js';
import { healthRouter, metricsRouter } from './http/health-routes.js';
import { checkHost } from './http/host-check.js';
import { Metrics } from './http/metrics.js';
import { clientRateLimit, createFailureLimit, createMailLimit, rateLimit } from './http/rate-limit.js';
import { body } from './http/read-body.js';
import { ReceiptQuota } from './http/receipt-quota.js';
import type { ApiState, ApiStep } from './http/request-state.js';
import { headers, requestId } from './http/response-headers.js';
import type { Route, SignInLimits } from './http/route.js';
import { RouteIndex, takeSteps } from './http/route-index.js';
import { createAjv } from './http/schema.js';
import { validate } from './http/validate.js';
import { serveMcp } from './mcp/serve-mcp.js';
import { docsRouter } from './pages/api-docs.js';
import { consoleRouter } from './pages/console-router.js';
import { dashboard } from './pages/queue-dashboard.js';
import { verifyRouter } from './pages/verify-page.js';
import { ROUTES } from './resources/index.js';
import { providerRouter } from './resources/session/provider/provider-router.js';

/** Returns the application, not listening yet. */
export function createApp(appDeps: AppDeps): Koa<ApiState> {
  const { db, engine, config, log, isEnding } = appDeps;
  const secret = Buffer.from(config.secretsKey.reveal(), 'base64');
  const deps: ApiDeps = {
    ...appDeps,
    metrics: new Metrics(db, engine, config.metricsServices),
    cursors: new CursorCodec(secret),
    csrf: new CsrfTokens(secret),
    receipts: new ReceiptQuota(),
  };
  const limits = { guesses: createGuessLimit(db), hashing: new HashGate(), mails: createMailLimit(db) };
  const operators = new Operators(config.dashboard, limits.guesses);
  const health = healthRouter(deps);
  const metrics = metricsRouter(deps, operators);
  const docs = docsRouter();
  const verify = verifyRouter();
  const console = consoleRouter();
  const provider = providerRouter(deps, limits);
  const { index, routes } = declaredRoutes(deps, limits);

  // Behind one proxy, the last address in X-Forwarded-For is the one that the proxy itself saw.
  const app = new Koa<ApiState>({ proxy: config.trustProxy, maxIpsCount: 1 });
  app.on('error', (error) => log.error({ err: error }, 'a response could not be sent'));
  app.use(requestId(log));
  app.use(accessLog(log, deps.metrics));
  app.use(errors());
  app.use(headers(isEnding));
  app.use(outsideApi(health.routes())).use(outsideApi(health.allowedMethods()));
  app.use(checkHost(config));
  app.use(transport(config.publicUrl));
  app.use(index.middleware());
  app.use(serveGit(deps));
  app.use(receiveHook(deps));
  app.use(serveMcp(deps));
  app.use(provider.routes());
  app.use(metrics.routes()).use(metrics.allowedMethods());
  app.use(dashboard(deps, operators));
  app.use(docs.routes()).use(docs.allowedMethods());
  app.use(verify.routes()).use(verify.allowedMethods());
  app.use(console.routes()).use(console.allowedMethods());
  app.use(routes.routes()).use(routes.allowedMethods());
  return app;
}

function outsideApi<C, B>(middleware: Koa.Middleware<ApiState, C, B>): Koa.Middleware<ApiState, C, B> {
  return (ctx, next) => (ctx.path.startsWith('/api/') ? next() : middleware(ctx, next));
}

function declaredRoutes(deps: ApiDeps, limits: SignInLimits): { index: RouteIndex; routes: Router<ApiState> } {
  const { db, config } = deps;
  const router = new Router<ApiState>({ sensitive: true, strict: true });
  const ajv = lazily(createAjv);
  const failures = createFailureLimit(db, config.rateLimits);
  const limitCredential = rateLimit(db, config.rateLimits);
  const limitClient = clientRateLimit(db, config.rateLimits);
  const readBody = body();
  const turns = requestTurns();

  function admit(route: Route): ApiStep[] {
    switch (route.access) {
      case 'anyone':
        return [limitClient];
      case 'signing-in':
        return [limitClient, signInCsrf(deps)];
      case 'session':
        return [authenticate(deps, failures, route.access), limitCredential, csrf(deps)];
      case 'key or session':
        return [
          authenticate(deps, failures, route.access),
          limitCredential,
          csrf(deps),
          authorize(deps, route.operation),
        ];
    }
  }

  const indexed = ROUTES.map((route) => {
    const enter: ApiStep = (ctx) => {
      ctx.state.route = route;
    };
    const path = route.root + route.path;
    const answer = answerInTurn(deps, limits, route, turns);
    const steps = [enter, ...admit(route), readBody, validate(ajv, route), ...answer];
    router.register(path, [route.method], (ctx) => takeSteps(steps, ctx));
    return { method: route.method, path, steps };
  });
  return { index: new RouteIndex(indexed), routes: router };
}
