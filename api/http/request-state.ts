import type { Middleware, ParameterizedContext } from 'koa';
import type { Logger } from '../../shared/core/log.js';
import type { KeyAccess } from '../auth/access-store.js';
import type { Caller, WorkspaceAccess } from './api-deps.js';
import type { Endpoint } from './endpoint.js';

/** Validated input. Handlers use no other part of the request. */
interface Input {
  params: Readonly<Record<string, string>>;
  query: Readonly<Record<string, unknown>>;
  body: Readonly<Record<string, unknown>>;
}

/** `ctx.state`, filled from left to right by the middleware in the order that `app.ts` shows. */
export interface ApiState {
  requestId: string;
  /** Returns the request's logger. It is created with the first line, because most requests write none. */
  log: () => Logger;
  /** True if the cookies for TLS are used (auth/cookies.ts). */
  tls: boolean;
  route: Endpoint;
  caller: Caller;
  /** Records that were read together with the key, before authorization. Undefined for a session. */
  found: Omit<KeyAccess, 'key'> | undefined;
  /** Null on a path that names no workspace. */
  workspace: WorkspaceAccess | null;
  /** The parsed body; undefined if there is none. */
  json: unknown;
  input: Input;
  /** The engine's failure; null if it answers, undefined if the route does not need it. */
  engineProblem: unknown;
}

export type ApiContext = ParameterizedContext<ApiState>;
export type ApiMiddleware = Middleware<ApiState>;

/** One step of a route. It throws to refuse the request. The last step answers. */
export type ApiStep = (ctx: ApiContext) => void | Promise<void>;
