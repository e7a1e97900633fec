import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import Router from '@koa/router';
import { lazily } from '../../shared/core/lazily.js';
import { escapeControls } from '../../shared/core/plain-text.js';
import { STACK_SCHEMA_PATH, stackSchema } from '../../shared/stacks/document-schema.js';
import { API_ROOT, SESSION_ROOT } from '../http/endpoint.js';
import type { ApiState } from '../http/request-state.js';
import { apiDocument } from '../resources/api-document.js';
import { policyOf, servePage } from './serve-page.js';

const PAGE_PATH = `${SESSION_ROOT}/docs`;
const DOCUMENT_PATH = `${API_ROOT}/openapi.json`;

/** Content-Security-Policy: the page loads only from this server. Swagger UI needs inline styles. */
const POLICY = policyOf(
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
);

const ASSETS: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Ranvier API</title>
    <link rel="stylesheet" href="${PAGE_PATH}/swagger-ui.css">
    <link rel="icon" type="image/png" href="${PAGE_PATH}/favicon-32x32.png">
  </head>
  <body>
    <div id="page"></div>
    <script src="${PAGE_PATH}/swagger-ui-bundle.js"></script>
    <script src="${PAGE_PATH}/page.js"></script>
  </body>
</html>
`;

/** Starts Swagger UI. Adds the CSRF token to writes with a session; writes with an API key need none. */
const SCRIPT = `SwaggerUIBundle({
  url: '${DOCUMENT_PATH}',
  dom_id: '#page',
  deepLinking: true,
  validatorUrl: null,
  requestInterceptor: async (request) => {
    const reads = !request.method || request.method.toUpperCase() === 'GET';
    if (reads || request.headers.Authorization || request.headers['X-CSRFToken']) return request;
    const { csrfToken } = await (await fetch('${SESSION_ROOT}/bootstrap')).json();
    request.headers['X-CSRFToken'] = csrfToken;
    return request;
  },
});
`;

/** Serves the OpenAPI document, Swagger UI and the schema of stacks, without a credential. */
export function docsRouter(): Router<ApiState> {
  const router = new Router<ApiState>();
  const document = lazily(() => escapeControls(JSON.stringify(apiDocument())));
  router.get(DOCUMENT_PATH, (ctx) => {
    ctx.type = 'application/json';
    ctx.body = document();
  });
  const stacks = lazily(() => escapeControls(JSON.stringify(stackSchema())));
  router.get(STACK_SCHEMA_PATH, (ctx) => {
    ctx.type = 'application/json';
    ctx.body = stacks();
  });
  servePage(router, PAGE_PATH, { html: PAGE, script: SCRIPT, policy: POLICY });
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  // Read once, so that all clients share one copy of the largest file (1.5 MB).
  const contents = new Map<string, Promise<Buffer>>();
  for (const [name, type] of Object.entries(ASSETS)) {
    router.get(`${PAGE_PATH}/${name}`, async (ctx) => {
      ctx.set('Cache-Control', 'public, max-age=3600');
      ctx.type = type;
      const content = contents.get(name) ?? readFile(join(folder, name));
      contents.set(name, content);
      ctx.body = await content;
    });
  }
  return router;
}
