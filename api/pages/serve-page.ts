import type { Router } from '@koa/router';
import type { ApiState } from '../http/request-state.js';

export interface Page {
  html: string;
  /** The page's script, which is served as `page.js` below the page's path. */
  script: string;
  policy: string;
}

/** Returns a Content-Security-Policy that allows only these sources. No other page may embed the page in a frame. */
export function policyOf(...sources: string[]): string {
  return ["default-src 'none'", ...sources, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"].join(
    '; ',
  );
}

/** Serves a page with its script. Browsers send no Referer header with requests from the page. */
export function servePage(router: Router<ApiState>, path: string, { html, script, policy }: Page): void {
  router.get(path, (ctx) => {
    ctx.set('Content-Security-Policy', policy);
    ctx.set('Referrer-Policy', 'no-referrer');
    ctx.type = 'text/html; charset=utf-8';
    ctx.body = html;
  });
  router.get(`${path}/page.js`, (ctx) => {
    ctx.type = 'text/javascript; charset=utf-8';
    ctx.body = script;
  });
}
