import type { Static, TObject, TSchema } from '@sinclair/typebox';
import type { ApiDeps, Caller } from '../../context.js';
import type { GuessLimit, MailLimit } from '../../middleware/rate-limit.js';
import { type Endpoint, NOTHING } from '../../route.js';
import type { ApiContext } from '../../state.js';

/** What slows guessing and mailing down; made once by `sessionRouter`. */
export interface SessionLimits {
  passwords: GuessLimit;
  codes: GuessLimit;
  mails: MailLimit;
}

/** What a session route's handler receives. Unlike the versioned API's it sets cookies, so it is given the context. */
export interface SessionRequest<Body = unknown> {
  deps: ApiDeps;
  limits: SessionLimits;
  ctx: ApiContext;
  body: Body;
}

export interface SignedInRequest<Body = unknown> extends SessionRequest<Body> {
  caller: Caller;
}

/** A route of a browser's session, below /api and outside the versioned root. Its writes keep no receipts. */
export interface SessionRoute extends Endpoint {
  /** `anyone` needs no credential, `signing-in` guesses at one, `session` needs a session. */
  access: 'anyone' | 'signing-in' | 'session';
  handle: (request: SignedInRequest) => Promise<unknown>;
}

interface Definition<Access extends SessionRoute['access'], Response extends TSchema, Body extends TObject> {
  method: Endpoint['method'];
  path: string;
  operation: string;
  summary: string;
  access: Access;
  body?: Body;
  response: Response;
  handler: (
    request: Access extends 'session' ? SignedInRequest<Static<Body>> : SessionRequest<Static<Body>>,
  ) => Promise<Static<Response>>;
}

/** Declares a route; its handler has a caller where its access is `session`. */
export function defineSession<
  const Access extends SessionRoute['access'],
  Response extends TSchema,
  Body extends TObject = typeof NOTHING,
>(definition: Definition<Access, Response, Body>): SessionRoute {
  const { handler, body, ...common } = definition;
  return {
    ...common,
    status: 200,
    query: NOTHING,
    body: definition.method === 'GET' ? null : (body ?? NOTHING),
    keyed: false,
    handle: handler as SessionRoute['handle'],
  };
}
