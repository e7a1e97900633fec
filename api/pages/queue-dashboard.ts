import type { Middleware } from 'koa';
import type { Config } from '../../shared/core/config.js';
import { AppError } from '../../shared/core/error-registry.js';
import type { Engine } from '../../shared/queues/queue-engine.js';
import type { Operators } from '../auth/operators.js';
import { senderOf } from '../http/origin.js';
import type { ApiMiddleware } from '../http/request-state.js';

const DASHBOARD_PATH = '/admin/queues';

/** Content-Security-Policy: the page may load from and send to this server only. */
const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; form-action 'self'";

/** Serves Bull Board with basic authentication; serves nothing if no credentials are configured. */
export function dashboard({ config, engine }: { config: Config; engine: Engine }, operators: Operators): ApiMiddleware {
  if (!config.dashboard) return (_, next) => next();
  let board: Promise<Middleware> | null = null;
  return async (ctx, next) => {
    if (ctx.path !== DASHBOARD_PATH && !ctx.path.startsWith(`${DASHBOARD_PATH}/`)) return next();
    if (!(await operators.proves(ctx))) {
      ctx.set('WWW-Authenticate', 'Basic realm="ranvier queues", charset="UTF-8"');
      ctx.status = 401;
      ctx.body = 'The user name and the password of the dashboard are needed';
      return;
    }
    // Browsers send saved credentials also with requests of other sites, so changes must come from our own page.
    const changes = !['GET', 'HEAD'].includes(ctx.method);
    if (changes && senderOf(ctx, config.publicUrl) !== 'own') throw refusedChange();
    ctx.set('Content-Security-Policy', POLICY);
    ctx.set('Referrer-Policy', 'same-origin');
    // Loaded on first use, because it is large and few processes show it.
    board ??= import('./queue-board.js').then(({ createBoard }) => createBoard(engine, DASHBOARD_PATH));
    await (await board)(ctx, next);
    if (ctx.response.is('html') && typeof ctx.body === 'string') ctx.body = ctx.body.replace(ELSEWHERE, '');
  };
}

/** Bull Board's link to a font on another host: the policy blocks the font, and browsers would log an error. */
const ELSEWHERE = /<link\b[^>]*\bhref="https?:[^>]*>/g;

function refusedChange(): AppError {
  return new AppError('csrf_failed', "A change needs the Origin or Referer of the dashboard's own page");
}
