import type { ApiMiddleware } from '../state.js';

/** Headers of every answer: nothing here is for caches, and a process that ends lets its connections go. */
export function headers(isEnding: () => boolean): ApiMiddleware {
  return (ctx, next) => {
    ctx.set('Cache-Control', 'no-store');
    ctx.set('X-Content-Type-Options', 'nosniff');
    if (isEnding()) ctx.set('Connection', 'close');
    return next();
  };
}
