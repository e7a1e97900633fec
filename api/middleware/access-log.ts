import { performance } from 'node:perf_hooks';
import type { Metrics } from '../metrics.js';
import type { ApiMiddleware } from '../state.js';

/** One log line and one observation a request, once its answer is sent or its connection is lost. */
export function accessLog(metrics: Metrics): ApiMiddleware {
  return async (ctx, next) => {
    const begun = performance.now();
    ctx.res.once('close', () => {
      const seconds = (performance.now() - begun) / 1000;
      const route = ctx.state.route?.path ?? 'other';
      const status = ctx.res.writableFinished ? ctx.res.statusCode : 499;
      metrics.observeRequest({ method: ctx.method, route, status }, seconds);
      const { log, caller } = ctx.state;
      // Callers poll; what changes something or goes wrong is what a person looks for.
      const level = ctx.method === 'GET' && status < 400 ? 'debug' : 'info';
      log[level](
        {
          method: ctx.method,
          path: ctx.path,
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
