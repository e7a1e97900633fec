import { AppError } from '../../shared/core/error-registry.js';
import type { ApiDeps } from '../http/api-deps.js';
import { senderOf } from '../http/origin.js';
import type { ApiContext, ApiStep } from '../http/request-state.js';
import { readCookie } from './cookies.js';

/**
 * Refuses a session's requests from other sites, and its writes without a CSRF token (specification, Authentication 3).
 * Only sessions need this check, because browsers send session cookies by themselves.
 */
export function csrf(deps: ApiDeps): ApiStep {
  return (ctx) => {
    if (ctx.state.caller.kind !== 'session') return;
    assertNotForeign(deps, ctx);
    if (ctx.state.route.method !== 'GET') assertToken(deps, ctx, readCookie(ctx, 'session'));
  };
}

/** Checks a sign-in request. A CSRF token is optional, because another site cannot send a JSON body with our origin. */
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
