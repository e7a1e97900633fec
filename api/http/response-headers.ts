import { v4 as uuidv4 } from 'uuid';
import { lazily } from '../../shared/core/lazily.js';
import type { Logger } from '../../shared/core/log.js';
import type { ApiMiddleware } from './request-state.js';

const ACCEPTED = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Accepts the caller's X-Request-ID or replaces an invalid one, and returns it (specification, Endpoints). */
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

/** Sets the headers of every answer. While the process ends, each connection is closed after its answer. */
export function headers(isEnding: () => boolean): ApiMiddleware {
  return (ctx, next) => {
    ctx.set('Cache-Control', 'no-store');
    ctx.set('X-Content-Type-Options', 'nosniff');
    // Pages replace this policy. No other answer may be rendered as a page, whatever it contains.
    ctx.set('Content-Security-Policy', NO_PAGE);
    // Browsers treat applications on other ports of this host as the same site. They must not embed our answers.
    ctx.set('Cross-Origin-Resource-Policy', 'same-origin');
    if (isEnding()) ctx.set('Connection', 'close');
    return next();
  };
}
