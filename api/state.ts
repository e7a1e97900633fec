import type { Middleware, ParameterizedContext } from 'koa';
import type { Logger } from '../shared/log.js';
import type { Caller, WorkspaceAccess } from './context.js';
import type { Endpoint } from './route.js';

/** Validated input; handlers read nothing else of the request. */
export interface Input {
  params: Readonly<Record<string, string>>;
  query: Readonly<Record<string, unknown>>;
  body: Readonly<Record<string, unknown>>;
}

/** `ctx.state`, filled from left to right by the middleware in the order that `app.ts` shows. */
export interface ApiState {
  requestId: string;
  log: Logger;
  route: Endpoint;
  caller: Caller;
  /** Null on a path that names no workspace. */
  workspace: WorkspaceAccess | null;
  /** The parsed body; undefined where there is none. */
  json: unknown;
  input: Input;
}

export type ApiContext = ParameterizedContext<ApiState>;
export type ApiMiddleware = Middleware<ApiState>;
