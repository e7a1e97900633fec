import type { ApiContext, ApiMiddleware } from '../http/request-state.js';

/**
 * `session` contains the session token of a signed-in browser. `visitor` contains a random token for a browser that is
 * not signed in, from which the CSRF token of its sign-in is derived.
 */
export type CookieName = 'session' | 'visitor';

/**
 * Decides whether a request uses the cookies for TLS (Secure, prefix `__Host-`). It does if it came over TLS, or if
 * PUBLIC_URL is https, because a proxy that terminates TLS may not report it. A browser without TLS ignores such
 * cookies.
 */
export function transport(publicUrl: string): ApiMiddleware {
  const publicTls = publicUrl.startsWith('https:');
  return (ctx, next) => {
    ctx.state.tls = publicTls || ctx.secure;
    return next();
  };
}

/**
 * Returns the full name of a cookie. With TLS, the prefix `__Host-` prevents hosted services and other hosts in the
 * domain from setting it. Without TLS, browsers send cookies to every port of the host, so the session is bound to one
 * client (http/client-identity.ts).
 */
function nameOf(ctx: ApiContext, name: CookieName): string {
  return `${ctx.state.tls ? '__Host-' : ''}ranvier_${name}`;
}

/** The format of the tokens that `newToken()` creates for cookies. A cookie in any other format is ignored. */
const VALUE = /^[A-Za-z0-9_-]{43}$/;

export function readCookie(ctx: ApiContext, name: CookieName): string | null {
  const value = ctx.cookies.get(nameOf(ctx, name));
  return value !== undefined && VALUE.test(value) ? value : null;
}

/** Sets a cookie that lasts until the given time or, without one, until the browser is closed. */
export function writeCookie(ctx: ApiContext, name: CookieName, value: string, expires?: Date): void {
  ctx.cookies.secure = ctx.state.tls;
  ctx.cookies.set(nameOf(ctx, name), value, {
    httpOnly: true,
    sameSite: 'lax',
    // `__Host-` requires the path `/`. Without TLS, browsers also send the cookie to applications on other ports of the
    // host. With the path `/api`, they do so only for URLs below `/api`.
    path: ctx.state.tls ? '/' : '/api',
    secure: ctx.state.tls,
    overwrite: true,
    ...(expires ? { expires } : {}),
  });
}

export function clearCookie(ctx: ApiContext, name: CookieName): void {
  writeCookie(ctx, name, '', new Date(0));
}
