import { isDatabaseAway, isTimeout } from '../../shared/core/database/database-client.js';
import { AppError } from '../../shared/core/error-registry.js';
import { isTransient } from './error-codes.js';
import type { ApiContext, ApiMiddleware } from './request-state.js';
import type { ErrorResponse } from './schema.js';

/** Converts errors to responses. An unreachable or slow database gives 503, and an unexpected error gives 500. */
export function errors(): ApiMiddleware {
  return async (ctx, next) => {
    try {
      await next();
      if (ctx.body === undefined || ctx.body === null) refuseUnanswered(ctx);
    } catch (error) {
      respond(ctx, error instanceof AppError ? error : describe(ctx, error));
    }
  };
}

/** The router only sets a status for unknown paths and methods. */
function refuseUnanswered(ctx: ApiContext): void {
  if (ctx.status === 404) throw new AppError('not_found', 'There is nothing at this path');
  if (ctx.status === 405 || ctx.status === 501) throw new AppError('method_not_allowed');
}

function describe(ctx: ApiContext, error: unknown): AppError {
  const request = `${ctx.method} ${ctx.path}`;
  if (isTimeout(error)) {
    ctx.state.log().warn({ err: error }, `${request} took too long`);
    return new AppError('request_timeout');
  }
  if (isDatabaseAway(error)) {
    ctx.state.log().warn({ err: error }, `${request} did not reach the database`);
    return new AppError('database_unavailable');
  }
  ctx.state.log().error({ err: error }, `${request} failed unexpectedly`);
  return new AppError('internal_error');
}

function respond(ctx: ApiContext, { code, status, message, details }: AppError): void {
  const body: ErrorResponse = {
    error: { code, message, ...(details ? { details } : {}) },
    requestId: ctx.state.requestId,
  };
  if (status === 401) ctx.set('WWW-Authenticate', 'Bearer realm="ranvier"');
  if (isTransient(status) && !ctx.response.get('Retry-After')) ctx.set('Retry-After', '1');
  ctx.status = status;
  ctx.body = body;
}
