import type { ApiMiddleware } from './state.js';
import type { Turns } from './turns.js';

/** Makes a request wait for its workspace's turn. */
export function takeTurn(turns: Turns): ApiMiddleware {
  return async (ctx, next) => {
    const end = await turns.take(ctx.state.workspace?.row.id ?? ctx.state.caller.userId).catch((error: unknown) => {
      ctx.set('Retry-After', '1');
      throw error;
    });
    try {
      await next();
    } finally {
      end();
    }
  };
}
