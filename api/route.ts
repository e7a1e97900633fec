import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox';
import type { Db, Transaction } from '../shared/db/client.js';
import type { ReceiptKey } from '../shared/db/receipts.js';
import type { AccessFacts, OperationName } from '../shared/domain/policy.js';
import type { Logger } from '../shared/log.js';
import type { ApiDeps, Caller, WorkspaceAccess } from './context.js';

/** The names of a path's parameters: every one of them is a UUID. */
type ParamsOf<Path extends string> = Path extends `${infer _}:${infer Name}/${infer Rest}`
  ? Record<Name, string> & ParamsOf<Rest>
  : Path extends `${infer _}:${infer Name}`
    ? Record<Name, string>
    : Record<never, string>;

type WorkspaceOf<Path extends string> = Path extends `${string}:workspaceId${string}` ? WorkspaceAccess : null;

/** What every handler receives. `query` and `body` have passed their schemas. */
export interface ReadRequest<Path extends string = string, Query = unknown> {
  deps: ApiDeps;
  log: Logger;
  caller: Caller;
  workspace: WorkspaceOf<Path>;
  params: Readonly<ParamsOf<Path>>;
  query: Query;
  /** The path as it was asked for, ids in lower case: cursors are bound to it. */
  path: string;
  db: Db;
}

/** A write runs in one transaction, which its receipt shares; it commits after the handler has returned. */
export interface WriteRequest<Path extends string = string, Query = unknown, Body = unknown>
  extends Omit<ReadRequest<Path, Query>, 'db'> {
  body: Body;
  trx: Transaction;
  /** The request's key, which a deployment keeps for good. */
  receiptKey: ReceiptKey | null;
  /** Refuses the operation where what it found out about its resource demands a higher role. */
  authorize: (facts: Pick<AccessFacts, 'protectedEnvironment'>) => void;
  /** Throws `engine_unavailable` before anything is queued; the dispatcher runs after the commit. */
  needEngine: () => Promise<void>;
  /** The dispatcher runs after the commit. */
  wakeDispatcher: () => void;
}

/** What the wire shows of a route: the middleware and the OpenAPI document know no more of it. */
export interface Endpoint {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  path: string;
  operation: string;
  summary: string;
  status: 200 | 201;
  query: TObject;
  body: TObject | null;
  response: TSchema;
  /** Whether Idempotency-Key is honoured. */
  keyed: boolean;
}

/** A route of the versioned API as the application mounts it and the tests walk it. */
export interface Route extends Endpoint {
  operation: OperationName;
  read: ((request: ReadRequest) => Promise<unknown>) | null;
  write: ((request: WriteRequest) => Promise<unknown>) | null;
}

export const NOTHING = Type.Object({}, { additionalProperties: false });

interface Common<Path extends string, Query extends TObject, Response extends TSchema> {
  path: Path;
  operation: OperationName;
  summary: string;
  query?: Query;
  response: Response;
}

/** Declares a GET. The handler's input and output are typed by its schemas. */
export function defineRead<const Path extends string, Response extends TSchema, Query extends TObject = typeof NOTHING>(
  definition: Common<Path, Query, Response> & {
    handler: (request: ReadRequest<Path, Static<Query>>) => Promise<Static<Response>>;
  },
): Route {
  const { handler, query, ...common } = definition;
  return {
    ...common,
    method: 'GET',
    status: 200,
    query: query ?? NOTHING,
    body: null,
    keyed: false,
    read: handler as unknown as Route['read'],
    write: null,
  };
}

/** A string that equals the request's Idempotency-Key. */
const RequestId = Type.Optional(Type.String({ minLength: 1, maxLength: 160, pattern: '^[!-~]+$' }));

/** Declares a write. Its body may carry `requestId` as well, unless the write is not keyed. */
export function defineWrite<
  const Path extends string,
  Response extends TSchema,
  Query extends TObject = typeof NOTHING,
  Body extends TObject = typeof NOTHING,
>(
  definition: Common<Path, Query, Response> & {
    method: Exclude<Route['method'], 'GET'>;
    body?: Body;
    status?: Route['status'];
    keyed?: boolean;
    handler: (request: WriteRequest<Path, Static<Query>, Static<Body>>) => Promise<Static<Response>>;
  },
): Route {
  const { handler, query, body = NOTHING, status = 200, keyed = true, ...common } = definition;
  return {
    ...common,
    status,
    query: query ?? NOTHING,
    body: keyed ? Type.Object({ ...body.properties, requestId: RequestId }, { additionalProperties: false }) : body,
    keyed,
    read: null,
    write: handler as unknown as Route['write'],
  };
}
