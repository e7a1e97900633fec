import type { ApiContext } from './request-state.js';

/**
 * Whether one of our own pages sent the request. `unknown` if the headers that show the origin are missing, as in
 * requests of programs. Other sites cannot abuse programs, which do not add credentials automatically.
 */
export type Sender = 'own' | 'foreign' | 'unknown';

/** Returns the sender of a request, from headers that pages cannot forge. A page on another port is foreign. */
export function senderOf(ctx: ApiContext, publicUrl: string): Sender {
  const site = ctx.get('Sec-Fetch-Site');
  if (site !== '' && site !== 'same-origin' && site !== 'none') return 'foreign';
  const origins = [ctx.get('Origin'), ctx.get('Referer')].filter((text) => text !== '');
  if (!origins.every((text) => isOwn(ctx, text, publicUrl))) return 'foreign';
  return site !== '' || origins.length > 0 ? 'own' : 'unknown';
}

function isOwn(ctx: ApiContext, text: string, publicUrl: string): boolean {
  if (!URL.canParse(text)) return false;
  const { origin, protocol, host } = new URL(text);
  if (origin === new URL(publicUrl).origin) return true;
  // Over TLS, an http: page is foreign even with the same host. Without TLS, an https: page can be our own, because a
  // proxy may terminate TLS.
  if (ctx.secure && protocol !== 'https:') return false;
  return host === hostOf(`${protocol}//${ctx.req.headers.host ?? ''}`);
}

/** Omits the scheme's default port. */
function hostOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).host : null;
}
