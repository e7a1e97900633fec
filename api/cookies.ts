import type { ApiContext } from './state.js';

/**
 * The two cookies of a browser: its session, and before there is one a visitor's number, to which the csrfToken of
 * /api/bootstrap belongs until then.
 */
export type CookieName = 'session' | 'visitor';

/** Under TLS the prefix keeps other hosts of our domain, hosted services among them, from planting a cookie of ours. */
function nameOf(ctx: ApiContext, name: CookieName): string {
  return `${ctx.secure ? '__Host-' : ''}ranvier_${name}`;
}

/** What newToken() makes; anything else was not set by us. */
const VALUE = /^[A-Za-z0-9_-]{43}$/;

export function readCookie(ctx: ApiContext, name: CookieName): string | null {
  const value = ctx.cookies.get(nameOf(ctx, name));
  return value !== undefined && VALUE.test(value) ? value : null;
}

/** Until the time given, or as long as the browser runs. */
export function writeCookie(ctx: ApiContext, name: CookieName, value: string, expires?: Date): void {
  ctx.cookies.set(nameOf(ctx, name), value, {
    httpOnly: true,
    sameSite: 'lax',
    path: '/',
    secure: ctx.secure,
    overwrite: true,
    ...(expires ? { expires } : {}),
  });
}

export function clearCookie(ctx: ApiContext, name: CookieName): void {
  writeCookie(ctx, name, '', new Date(0));
}
