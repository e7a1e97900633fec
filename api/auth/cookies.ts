import type { ApiContext, ApiMiddleware } from '../http/request-state.js';

/** `visitor` is a random token for a browser without a session. A sign-in's CSRF token is derived from that token. */
export type CookieName = 'session' | 'visitor';

/**
 * Decides whether a request uses cookies for TLS. An https PUBLIC_URL suffices, because a proxy that terminates TLS may
 * not report it.
 */
export function transport(publicUrl: string): ApiMiddleware {
  const publicTls = publicUrl.startsWith('https:');
  return (ctx, next) => {
    ctx.state.tls = publicTls || ctx.secure;
    return next();
  };
}

/** The prefix `__Host-` prevents other hosts of the domain, such as hosted services, from setting the cookie. */
function nameOf(ctx: ApiContext, name: CookieName): string {
  return `${ctx.state.tls ? '__Host-' : ''}ranvier_${name}`;
}

const VALUE = /^[A-Za-z0-9_-]{43}$/;

export function readCookie(ctx: ApiContext, name: CookieName): string | null {
  const value = ctx.cookies.get(nameOf(ctx, name));
  return value !== undefined && VALUE.test(value) ? value : null;
}

/** Sets a cookie that lasts until `expires` or, without it, until the browser is closed. */
export function writeCookie(ctx: ApiContext, name: CookieName, value: string, expires?: Date): void {
  ctx.cookies.secure = ctx.state.tls;
  ctx.cookies.set(nameOf(ctx, name), value, {
    httpOnly: true,
    sameSite: 'lax',
    // `__Host-` requires `/`. Without TLS, browsers send cookies to every port of the host, so `/api` keeps this cookie
    // from most paths of hosted applications.
    path: ctx.state.tls ? '/' : '/api',
    secure: ctx.state.tls,
    overwrite: true,
    ...(expires ? { expires } : {}),
  });
}

export function clearCookie(ctx: ApiContext, name: CookieName): void {
  writeCookie(ctx, name, '', new Date(0));
}
