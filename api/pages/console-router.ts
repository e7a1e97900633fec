import Router from '@koa/router';
import type { ApiContext, ApiState } from '../http/request-state.js';
import { BuiltConsole, type ConsoleFile } from './console-files.js';
import { policyOf } from './serve-page.js';

/** Links to these two pages have a token in the fragment, which is never sent to a server and thus not logged. */
export const SIGN_IN_PATH = '/sign-in';

export const INVITATION_PATH = '/invitation';

/** Content-Security-Policy: pages load only from this server, and have no inline scripts or styles. */
const POLICY = policyOf("script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'");

/** Paths of the console's pages. Any other unknown path gets an error of the API. */
const PAGES = ['/', SIGN_IN_PATH, INVITATION_PATH, /^\/w(\/.*)?$/];

const SECONDS_OF_A_YEAR = 31_536_000;

/** Serves the console. Its pages say so if it is not built yet or if the build failed. */
export function consoleRouter(): Router<ApiState> {
  const router = new Router<ApiState>();
  const console = new BuiltConsole();
  for (const path of PAGES) {
    router.get(path, async (ctx) => {
      ctx.set('Content-Security-Policy', POLICY);
      ctx.set('Referrer-Policy', 'no-referrer');
      const { files, error } = await console.find();
      const page = files?.files.get('index.html');
      if (!files || !page) return notBuilt(ctx, error);
      ctx.set('Cache-Control', 'no-cache');
      ctx.set('ETag', `"${files.version}"`);
      ctx.status = 200;
      if (ctx.fresh) {
        ctx.status = 304;
        return;
      }
      send(ctx, page);
    });
  }
  router.get('/assets/:name', async (ctx) => {
    const { files } = await console.find();
    const file = files?.files.get(`assets/${ctx.params.name}`);
    if (!file) return;
    ctx.set('Cache-Control', `public, max-age=${SECONDS_OF_A_YEAR}, immutable`);
    send(ctx, file);
  });
  return router;
}

function send(ctx: ApiContext, { type, plain, gzip }: ConsoleFile): void {
  ctx.type = type;
  ctx.vary('Accept-Encoding');
  if (ctx.acceptsEncodings('gzip', 'identity') === 'gzip') {
    ctx.set('Content-Encoding', 'gzip');
    ctx.body = gzip;
  } else ctx.body = plain;
}

function notBuilt(ctx: ApiContext, error: string | null): void {
  ctx.status = 503;
  ctx.set('Retry-After', '2');
  ctx.type = 'text/html; charset=utf-8';
  const [title, text] =
    error === null
      ? ['The console is being built', 'This page loads again by itself. It takes some seconds after an upgrade.']
      : ['The console could not be built', 'The API works. `npm run build` in the installation’s folder says why.'];
  ctx.body = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    ${error === null ? '<meta http-equiv="refresh" content="2">' : ''}
    <title>Ranvier</title>
  </head>
  <body><h1>${title}</h1><p>${text}</p></body>
</html>
`;
}
