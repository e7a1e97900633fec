import { AppError } from '../../shared/core/error-registry.js';
import type { ApiDeps } from '../http/api-deps.js';
import { senderOf } from '../http/origin.js';
import type { ApiContext, ApiStep } from '../http/request-state.js';
import { readCookie } from './cookies.js';

/**
 * Requires a CSRF token for writes with a session (specification, Authentication 3). Requests with an API key need
 * none, because browsers do not add keys automatically. Requests from pages of another origin are refused, even reads;
 * another port of our host is another origin.
 */
export function csrf(deps: ApiDeps): ApiStep {
  return (ctx) => {
    if (ctx.state.caller.kind !== 'session') return;
    assertNotForeign(deps, ctx);
    if (ctx.state.route.method !== 'GET') assertToken(deps, ctx, readCookie(ctx, 'session'));
  };
}

/**
 * Checks a sign-in request. It needs no CSRF token, because there is no session yet that another site could abuse; a
 * token that is sent must be valid. Another site cannot sign the browser in as a different user, because it cannot send
 * a JSON body with our origin.
 */
export function signInCsrf(deps: ApiDeps): ApiStep {
  return (ctx) => {
    assertNotForeign(deps, ctx);
    if (ctx.get('X-CSRFToken') !== '') {
      assertToken(deps, ctx, readCookie(ctx, 'session') ?? readCookie(ctx, 'visitor'));
    }
  };
}

function assertNotForeign({ config }: ApiDeps, ctx: ApiContext): void {
  if (senderOf(ctx, config.publicUrl) === 'foreign')
    throw new AppError('csrf_failed', 'A page of another site sent this');
}

function assertToken({ csrf }: ApiDeps, ctx: ApiContext, cookie: string | null): void {
  if (cookie === null || !csrf.matches(cookie, ctx.get('X-CSRFToken'))) throw new AppError('csrf_failed');
}
