import type { Middleware, ParameterizedContext } from 'koa';
import type { Logger } from '../../shared/core/log.js';
import type { KeyAccess } from '../auth/access-store.js';
import type { Caller, WorkspaceAccess } from './api-deps.js';
import type { Endpoint } from './endpoint.js';

interface Input {
  params: Readonly<Record<string, string>>;
  query: Readonly<Record<string, unknown>>;
  body: Readonly<Record<string, unknown>>;
}

/** `ctx.state`. The middleware fills it field by field, in the order of `app.ts`. */
export interface ApiState {
  requestId: string;
  /** Creates the request's logger on the first call, because most requests log nothing. */
  log: () => Logger;
  /** True if the cookies for TLS are used (auth/cookies.ts). */
  tls: boolean;
  route: Endpoint;
  caller: Caller;
  /** The workspace and service of the path, which the query for the API key also reads. Undefined for a session. */
  found: Omit<KeyAccess, 'key'> | undefined;
  /** Null if the path contains no workspace. */
  workspace: WorkspaceAccess | null;
  /** The parsed body; undefined if the request has none. */
  json: unknown;
  input: Input;
  /** The error of the queue engine. Null if the engine is reachable; undefined if the route does not need it. */
  engineProblem: unknown;
}

export type ApiContext = ParameterizedContext<ApiState>;
export type ApiMiddleware = Middleware<ApiState>;

/** One step of a route's pipeline. It throws to refuse the request; the last step sends the response. */
export type ApiStep = (ctx: ApiContext) => void | Promise<void>;
