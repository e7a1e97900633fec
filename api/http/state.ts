import type { Middleware, ParameterizedContext } from 'koa';
import type { Logger } from '../../shared/core/log.js';
import type { KeyAccess } from '../auth/access-store.js';
import type { Caller, WorkspaceAccess } from './context.js';
import type { Endpoint } from './endpoint.js';

/** Validated input. Handlers read nothing else of the request. */
interface Input {
  params: Readonly<Record<string, string>>;
  query: Readonly<Record<string, unknown>>;
  body: Readonly<Record<string, unknown>>;
}

/** `ctx.state`, filled from left to right by the middleware in the order that `app.ts` shows. */
export interface ApiState {
  requestId: string;
  /** The request's logger. Most requests write no line, so it is made with the first one. */
  log: () => Logger;
  /** Cookies are those of TLS (auth/cookies.ts). */
  tls: boolean;
  route: Endpoint;
  caller: Caller;
  /** What was read together with a key, which may be more than the caller may see. Undefined for a session. */
  found: Omit<KeyAccess, 'key'> | undefined;
  /** Null on a path that names no workspace. */
  workspace: WorkspaceAccess | null;
  /** The parsed body; undefined if there is none. */
  json: unknown;
  input: Input;
  /** Why the engine cannot be used, or null. Undefined if the route does not need it. */
  engineProblem: unknown;
}

export type ApiContext = ParameterizedContext<ApiState>;
export type ApiMiddleware = Middleware<ApiState>;

/** One step of a route: it refuses the request by an error, or the next step follows. The last one answers. */
export type ApiStep = (ctx: ApiContext) => void | Promise<void>;
