import Router from '@koa/router';
import { AppError } from '../../../shared/errors.js';
import type { ApiDeps } from '../../context.js';
import { sessionCaller } from '../../middleware/authenticate.js';
import { body } from '../../middleware/body.js';
import { csrf, signInCsrf } from '../../middleware/csrf.js';
import {
  addressRateLimit,
  createFailureLimit,
  createGuessLimit,
  createMailLimit,
  rateLimit,
} from '../../middleware/rate-limit.js';
import { validate } from '../../middleware/validate.js';
import { SESSION_ROOT } from '../../routes.js';
import { createAjv } from '../../schema.js';
import type { ApiMiddleware, ApiState } from '../../state.js';
import type { SessionLimits, SessionRoute } from './route.js';
import { SESSION_ROUTES } from './routes.js';

/** Every route of sessions with its own pipeline. */
export function sessionRouter(deps: ApiDeps): Router<ApiState> {
  const { db, config } = deps;
  const router = new Router<ApiState>({ prefix: SESSION_ROOT, sensitive: true, strict: true });
  const ajv = createAjv();
  const addressLimit = addressRateLimit(db, config.rateLimits);
  const pipelines: Record<SessionRoute['access'], ApiMiddleware[]> = {
    anyone: [addressLimit],
    'signing-in': [addressLimit, signInCsrf(deps)],
    session: [authenticateSession(deps), rateLimit(db, config.rateLimits), csrf(deps)],
  };
  const limits: SessionLimits = {
    passwords: createGuessLimit(db, 'password'),
    codes: createGuessLimit(db, 'code'),
    mails: createMailLimit(db),
  };
  const read = body();
  for (const route of SESSION_ROUTES) {
    const named: ApiMiddleware = (ctx, next) => {
      ctx.state.route = route;
      return next();
    };
    const perform: ApiMiddleware = async (ctx) => {
      const { caller, input } = ctx.state;
      ctx.body = await route.handle({ deps, limits, ctx, caller, body: input.body });
    };
    const pipeline = [named, ...pipelines[route.access], read, validate(ajv, route), perform];
    router.register(route.path, [route.method], pipeline);
  }
  return router;
}

/** These routes are about the session itself: a key does not stand in for it. */
function authenticateSession(deps: ApiDeps): ApiMiddleware {
  const failures = createFailureLimit(deps.db, deps.config.rateLimits);
  return async (ctx, next) => {
    const caller = await sessionCaller(deps, ctx);
    if (!caller) {
      await failures.count(ctx);
      throw new AppError('unauthenticated');
    }
    ctx.state.caller = caller;
    await next();
  };
}
