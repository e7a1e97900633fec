import { AppError } from '../../shared/errors.js';
import type { ErrorResponse } from '../schema.js';
import type { ApiContext, ApiMiddleware } from '../state.js';

/** The one place where a failure becomes a response. What is no `AppError` is a bug: logged, and 500. */
export function errors(): ApiMiddleware {
  return async (ctx, next) => {
    try {
      await next();
      if (ctx.body === undefined || ctx.body === null) refuseUnanswered(ctx);
    } catch (error) {
      respond(ctx, error instanceof AppError ? error : unexpected(ctx, error));
    }
  };
}

/** The router answers unknown paths and methods by the status alone. */
function refuseUnanswered(ctx: ApiContext): void {
  if (ctx.status === 404) throw new AppError('not_found', 'There is nothing at this path');
  if (ctx.status === 405 || ctx.status === 501) throw new AppError('method_not_allowed');
}

function unexpected(ctx: ApiContext, error: unknown): AppError {
  ctx.state.log.error({ err: error }, `${ctx.method} ${ctx.path} failed unexpectedly`);
  return new AppError('internal_error');
}

function respond(ctx: ApiContext, { code, status, message, details }: AppError): void {
  const body: ErrorResponse = {
    error: { code, message, ...(details ? { details } : {}) },
    requestId: ctx.state.requestId,
  };
  if (status === 401) ctx.set('WWW-Authenticate', 'Bearer realm="ranvier"');
  ctx.status = status;
  ctx.body = body;
}
