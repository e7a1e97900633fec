import { type Static, type TObject, type TSchema, Type } from 'typebox';
import type { AuditDetails, AuditEntry } from '../../shared/audit/store.js';
import type { Db, Transaction } from '../../shared/core/database/database-client.js';
import type { ErrorCode } from '../../shared/core/error-registry.js';
import type { Logger } from '../../shared/core/log.js';
import type { AccessFacts, OperationName } from '../../shared/identity/policy.js';
import type { ReceiptKey } from '../../shared/receipts/store.js';
import type { KeyAccess } from '../auth/access-store.js';
import type { GuessLimit } from '../auth/guess-limit.js';
import type { HashGate } from '../auth/hash-gate.js';
import type { ApiDeps, Caller, WorkspaceAccess } from './api-deps.js';
import { type Access, API_ROOT, type Endpoint, NOTHING, SESSION_ROOT } from './endpoint.js';
import type { MailLimit } from './rate-limit.js';
import type { ApiContext } from './request-state.js';

type ParamsOf<Path extends string> = Path extends `${infer _}:${infer Name}/${infer Rest}`
  ? Record<Name, string> & ParamsOf<Rest>
  : Path extends `${infer _}:${infer Name}`
    ? Record<Name, string>
    : Record<never, string>;

type WorkspaceOf<Path extends string> = Path extends `${string}:workspaceId${string}` ? WorkspaceAccess : null;

/** What the handler of a GET route of the versioned API receives. `query` has been validated. */
export interface ReadRequest<Path extends string = string, Query = unknown> {
  deps: ApiDeps;
  log: () => Logger;
  caller: Caller;
  workspace: WorkspaceOf<Path>;
  params: Readonly<ParamsOf<Path>>;
  query: Query;
  /** The requested path with its ids in lower case. Cursors are bound to it. */
  path: string;
  db: Db;
  /** The service in the path, if it was read together with the API key; otherwise the handler reads it. */
  found: Pick<KeyAccess, 'service'> | undefined;
}

/** The write and its receipt share one transaction, which commits after the handler has returned. */
export interface WriteRequest<Path extends string = string, Query = unknown, Body = unknown>
  extends Omit<ReadRequest<Path, Query>, 'db' | 'found'> {
  body: Body;
  trx: Transaction;
  /** The Idempotency-Key, with a hash of its scope; null if there is none. */
  receiptKey: ReceiptKey | null;
  /** Throws if the caller's role is too low. Some operations require a higher role in a protected environment. */
  authorize: (facts: Pick<AccessFacts, 'protectedEnvironment'>) => void;
  /**
   * Throws `engine_unavailable` if the queue engine is unreachable. Must be called before work is queued, and only by
   * routes that declare `engine`.
   */
  needEngine: () => void;
  note: (details: AuditDetails) => void;
  requestId: string;
  /** The client's address. Behind a trusted proxy, it is the address that the proxy reports. */
  address: string;
  /** The header `traceparent`, which is the caller's trace context; null if it is absent or invalid. */
  traceparent: string | null;
  /** Wakes the dispatcher once the transaction has committed. */
  wakeDispatcher: () => void;
}

export interface DirectRequest<Path extends string = string, Query = unknown, Body = unknown>
  extends ReadRequest<Path, Query>,
    Pick<WriteRequest<Path, Query, Body>, 'body' | 'authorize'> {
  /** Builds the audit entry, which must be stored with the write. `answer` is the response that the caller will get. */
  audit: (answer: unknown) => AuditEntry | null;
}

/** Limits that the handlers of session routes apply themselves, because they depend on the account. */
export interface SignInLimits {
  guesses: GuessLimit;
  hashing: HashGate;
  mails: MailLimit;
}

/** What the handler of a route that signs users in or out receives. It sets cookies and opens transactions itself. */
export interface SessionRequest<Body = unknown> {
  deps: ApiDeps;
  limits: SignInLimits;
  ctx: ApiContext;
  body: Body;
}

export interface SignedInRequest<Body = unknown> extends SessionRequest<Body> {
  caller: Caller;
}

interface RouteOf<Request> extends Endpoint {
  handler: (request: Request) => Promise<unknown>;
}

export interface ReadRoute extends RouteOf<ReadRequest> {
  access: 'key or session';
  method: 'GET';
  operation: OperationName;
  isSearch?: (request: Pick<ReadRequest, 'query' | 'workspace'>) => boolean;
}

export interface WriteRoute extends RouteOf<WriteRequest> {
  access: 'key or session';
  method: Exclude<Endpoint['method'], 'GET'>;
  operation: OperationName;
  complete?: (pending: string, request: ReadRequest) => Promise<unknown>;
  direct?: (request: DirectRequest) => Promise<unknown>;
}

export interface SessionRoute extends RouteOf<SignedInRequest> {
  access: Exclude<Access, 'key or session'>;
}

export type Route = ReadRoute | WriteRoute | SessionRoute;

type RequestOf<A extends Access, Method, Path extends string, Query, Body> = A extends 'key or session'
  ? Method extends 'GET'
    ? ReadRequest<Path, Query>
    : WriteRequest<Path, Query, Body>
  : A extends 'session'
    ? SignedInRequest<Body>
    : SessionRequest<Body>;

interface Definition<
  A extends Access,
  Method extends Endpoint['method'],
  Path extends string,
  Query extends TObject,
  Body extends TObject,
  Response extends TSchema,
> {
  /** Default: 'key or session'. */
  access?: A;
  summary: string;
  description: string;
  errors?: readonly ErrorCode[];
  query?: Query;
  body?: Body;
  bodyLimit?: number;
  example?: Static<Body>;
  /** Default: 200. */
  status?: Endpoint['status'];
  response: Response;
  /** False if the write stores no receipt, and thus ignores Idempotency-Key. Session routes never store one. */
  keyed?: boolean;
  engine?: true;
  /** Returns true for a read that may take long. Only a few such reads run concurrently. */
  isSearch?: (request: Pick<ReadRequest<Path, Static<Query>>, 'query' | 'workspace'>) => boolean;
  handler: (
    request: RequestOf<A, Method, Path, Static<Query>, Static<Body>>,
  ) => Promise<Static<Response> | { pending: string }>;
  /**
   * Completes, after the commit, a write that waits for a worker or the network, and returns the response. Such a write
   * uses no database connection while it waits, and stores no receipt.
   */
  complete?: (pending: string, request: ReadRequest) => Promise<Static<Response>>;
  /** Performs a write that has no Idempotency-Key without a transaction. Returns null to leave it to the handler. */
  direct?: (request: DirectRequest<Path, Static<Query>, Static<Body>>) => Promise<Static<Response> | null>;
}

/** Must equal the header Idempotency-Key if the request has both. */
const RequestId = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 160,
    pattern: '^[!-~]+$',
    description: 'an idempotency key: visible ASCII characters',
  }),
);

/**
 * Declares a route. Its access and method determine what the handler receives. An idempotent write (`keyed`) also
 * accepts `requestId` in its body.
 */
export function defineRoute<
  const Method extends Endpoint['method'],
  const Path extends string,
  Response extends TSchema,
  const A extends Access = 'key or session',
  Query extends TObject = typeof NOTHING,
  Body extends TObject = typeof NOTHING,
>(
  method: Method,
  path: Path,
  operation: A extends 'key or session' ? OperationName : string,
  definition: Definition<A, Method, Path, Query, Body, Response>,
): Route {
  const { access = 'key or session', query = NOTHING, body = NOTHING, status = 200, ...common } = definition;
  const versioned = access === 'key or session';
  const { keyed = versioned && method !== 'GET' } = definition;
  const accepted = keyed
    ? Type.Object(
        { ...body.properties, requestId: RequestId },
        { ...alternativesOf(body), additionalProperties: false },
      )
    : body;
  return {
    errors: [],
    ...common,
    method,
    path,
    operation,
    access,
    root: versioned ? API_ROOT : SESSION_ROOT,
    status,
    query,
    body: method === 'GET' ? null : accepted,
    keyed,
  } as unknown as Route;
}

function alternativesOf(body: TObject): { oneOf?: unknown } {
  return 'oneOf' in body ? { oneOf: body.oneOf } : {};
}
