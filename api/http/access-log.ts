import { performance } from 'node:perf_hooks';
import type { Logger } from '../../shared/core/log.js';
import { CLIENT_PATHS } from '../../shared/remote/model.js';
import type { Metrics } from './metrics.js';
import type { ApiMiddleware } from './request-state.js';

const LOGGED_PATH = 512;

/**
 * Removes the secret ticket from the path of a shell or tunnel. The log gets such a path only if the request lacks the
 * header `Upgrade`.
 */
function withoutTicket(path: string): string {
  const prefix = Object.values(CLIENT_PATHS).find((each) => path.startsWith(each));
  return prefix ?? path;
}

/** Writes a log line and updates the metrics for each request, after its response or disconnection. */
export function accessLog(log: Logger, metrics: Metrics): ApiMiddleware {
  return async (ctx, next) => {
    const begun = performance.now();
    ctx.res.once('close', () => {
      const seconds = (performance.now() - begun) / 1000;
      const route = ctx.state.route?.path ?? 'other';
      const status = ctx.res.writableFinished ? ctx.res.statusCode : 499;
      metrics.observeRequest({ method: ctx.method, route, status }, seconds);
      // Successful reads are mostly polls, so they are logged only for debugging.
      const level = ctx.method === 'GET' && status < 400 ? 'debug' : 'info';
      if (!log.isLevelEnabled(level)) return;
      const { caller } = ctx.state;
      ctx.state.log()[level](
        {
          method: ctx.method,
          path: withoutTicket(ctx.path).slice(0, LOGGED_PATH),
          status,
          seconds: Number(seconds.toFixed(4)),
          credential: caller?.credentialId,
        },
        'request',
      );
    });
    await next();
  };
}
