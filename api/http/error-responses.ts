import { isTimeout } from '../../shared/core/database/database-client.js';
import { AppError } from '../../shared/core/error-registry.js';
import type { ApiContext, ApiMiddleware } from './request-state.js';
import type { ErrorResponse } from './schema.js';

/**
 * Converts thrown errors to error responses. An error that is not an `AppError` is a bug. It is logged, and the
 * response has status 500.
 */
export function errors(): ApiMiddleware {
  return async (ctx, next) => {
    try {
      await next();
      if (ctx.body === undefined || ctx.body === null) refuseUnanswered(ctx);
    } catch (error) {
      respond(ctx, error instanceof AppError ? error : isTimeout(error) ? tooLong(ctx, error) : unexpected(ctx, error));
    }
  };
}

/** Throws an error for unknown paths and methods, for which the router only sets a status. */
function refuseUnanswered(ctx: ApiContext): void {
  if (ctx.status === 404) throw new AppError('not_found', 'There is nothing at this path');
  if (ctx.status === 405 || ctx.status === 501) throw new AppError('method_not_allowed');
}

function tooLong(ctx: ApiContext, error: unknown): AppError {
  ctx.state.log().warn({ err: error }, `${ctx.method} ${ctx.path} took too long`);
  return new AppError('request_timeout');
}

function unexpected(ctx: ApiContext, error: unknown): AppError {
  ctx.state.log().error({ err: error }, `${ctx.method} ${ctx.path} failed unexpectedly`);
  return new AppError('internal_error');
}

function respond(ctx: ApiContext, { code, status, message, details }: AppError): void {
  const body: ErrorResponse = {
    error: { code, message, ...(details ? { details } : {}) },
    requestId: ctx.state.requestId,
  };
  if (status === 401) ctx.set('WWW-Authenticate', 'Bearer realm="ranvier"');
  if (status === 429 && !ctx.response.get('Retry-After')) ctx.set('Retry-After', '1');
  ctx.status = status;
  ctx.body = body;
}
