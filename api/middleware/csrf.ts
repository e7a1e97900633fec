import { AppError } from '../../shared/errors.js';
import type { ApiDeps } from '../context.js';
import { readCookie } from '../cookies.js';
import type { ApiContext, ApiMiddleware } from '../state.js';

/**
 * A session's write must carry the csrfToken of /api/bootstrap (specification, Authentication 3); a key's need not:
 * browsers do not send keys by themselves.
 */
export function csrf(deps: ApiDeps): ApiMiddleware {
  return (ctx, next) => {
    if (ctx.state.caller.kind === 'session' && ctx.state.route.method !== 'GET') {
      assertToken(deps, ctx, readCookie(ctx, 'session'));
    }
    return next();
  };
}

/**
 * Signing in: there is no session yet that another site could ride on, so no token is needed. That another site signs
 * the browser in as somebody else is prevented by what only our own pages can send, a JSON body with this origin; a
 * token that is sent must be right all the same.
 */
export function signInCsrf(deps: ApiDeps): ApiMiddleware {
  return (ctx, next) => {
    if (!['', 'same-origin', 'none'].includes(ctx.get('Sec-Fetch-Site'))) throw new AppError('csrf_failed');
    if (ctx.get('X-CSRFToken') !== '') {
      assertToken(deps, ctx, readCookie(ctx, 'session') ?? readCookie(ctx, 'visitor'));
    }
    return next();
  };
}

function assertToken({ csrf }: ApiDeps, ctx: ApiContext, cookie: string | null): void {
  if (cookie === null || !csrf.matches(cookie, ctx.get('X-CSRFToken'))) throw new AppError('csrf_failed');
}
