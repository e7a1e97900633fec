import type { ApiContext, ApiMiddleware } from '../http/request-state.js';

/**
 * The cookie of a browser's session or, before signing in, a random number to which the csrfToken of /api/bootstrap
 * belongs.
 */
export type CookieName = 'session' | 'visitor';

/**
 * Decides whether the cookies for TLS are used.
 * They are if the request came over TLS, and if PUBLIC_URL has https, because a proxy in front may not say that it
 * ended TLS. A browser without TLS drops such cookies.
 */
export function transport(publicUrl: string): ApiMiddleware {
  const publicTls = publicUrl.startsWith('https:');
  return (ctx, next) => {
    ctx.state.tls = publicTls || ctx.secure;
    return next();
  };
}

/**
 * Returns the name of a cookie. Under TLS, its prefix keeps hosted services and other hosts of our domain from setting
 * it.
 * Secure keeps it from other ports without our certificate. Without TLS, browsers send cookies to every port of the
 * host; therefore such a session is valid for one client only (http/client-identity.ts).
 */
function nameOf(ctx: ApiContext, name: CookieName): string {
  return `${ctx.state.tls ? '__Host-' : ''}ranvier_${name}`;
}

/** The form of newToken(). No other value was set by this platform. */
const VALUE = /^[A-Za-z0-9_-]{43}$/;

export function readCookie(ctx: ApiContext, name: CookieName): string | null {
  const value = ctx.cookies.get(nameOf(ctx, name));
  return value !== undefined && VALUE.test(value) ? value : null;
}

/** Sets a cookie until the given time or, without one, until the browser closes. */
export function writeCookie(ctx: ApiContext, name: CookieName, value: string, expires?: Date): void {
  ctx.cookies.secure = ctx.state.tls;
  ctx.cookies.set(nameOf(ctx, name), value, {
    httpOnly: true,
    sameSite: 'lax',
    // The prefix requires the whole host. Without it, fewer requests to other ports of the host carry the cookie.
    path: ctx.state.tls ? '/' : '/api',
    secure: ctx.state.tls,
    overwrite: true,
    ...(expires ? { expires } : {}),
  });
}

export function clearCookie(ctx: ApiContext, name: CookieName): void {
  writeCookie(ctx, name, '', new Date(0));
}
