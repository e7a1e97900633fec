import { v4 as uuidv4 } from 'uuid';
import { lazily } from '../../shared/core/lazily.js';
import type { Logger } from '../../shared/core/log.js';
import type { ApiMiddleware } from './request-state.js';

const ACCEPTED = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Sets `requestId` to the caller's X-Request-ID if it is valid, or else to a new id (specification, Endpoints). */
export function requestId(log: Logger): ApiMiddleware {
  return (ctx, next) => {
    const given = ctx.get('X-Request-ID');
    ctx.state.requestId = ACCEPTED.test(given) ? given : uuidv4();
    ctx.state.log = lazily(() => log.child({ requestId: ctx.state.requestId }));
    ctx.set('X-Request-ID', ctx.state.requestId);
    return next();
  };
}

const NO_PAGE = "default-src 'none'; frame-ancestors 'none'";

/** Sets the headers of every response. While the process shuts down, each connection closes after its response. */
export function headers(isEnding: () => boolean): ApiMiddleware {
  return (ctx, next) => {
    ctx.set('Cache-Control', 'no-store');
    ctx.set('X-Content-Type-Options', 'nosniff');
    // Console pages replace this policy. It prevents browsers from rendering any other response as a page.
    ctx.set('Content-Security-Policy', NO_PAGE);
    // Browsers treat applications on other ports of this host as the same site. These must not embed our responses.
    ctx.set('Cross-Origin-Resource-Policy', 'same-origin');
    if (isEnding()) ctx.set('Connection', 'close');
    return next();
  };
}
