import type { ApiStep } from './state.js';
import type { Turns } from './turns.js';

/** Makes a request wait for its workspace's turn before the step. */
export function inTurn(turns: Turns, step: ApiStep): ApiStep {
  return async (ctx) => {
    const end = await turns.take(ctx.state.workspace?.row.id ?? ctx.state.caller.userId).catch((error: unknown) => {
      ctx.set('Retry-After', '1');
      throw error;
    });
    try {
      await step(ctx);
    } finally {
      end();
    }
  };
}
