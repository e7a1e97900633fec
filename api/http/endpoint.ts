import type { TObject, TSchema } from 'typebox';
import type { ErrorCode } from '../../shared/core/error-registry.js';

/** The root of the versioned API (specification, Versioning). */
export const API_ROOT = '/api/v1';
/** The root of the session's routes, which are not versioned. */
export const SESSION_ROOT = '/api';

/**
 * Who may call a route. `anyone` needs no credential, `signing-in` proves a password, `session` needs a browser's
 * session, and `key or session` needs either, with the rights of the operation's policy.
 */
export type Access = 'anyone' | 'signing-in' | 'session' | 'key or session';

/** A route as callers see it: what the middleware and the OpenAPI document need. */
export interface Endpoint {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  root: typeof API_ROOT | typeof SESSION_ROOT;
  /** Below the root. Every parameter is a UUID. */
  path: string;
  access: Access;
  operation: string;
  /** A title of a few words. */
  summary: string;
  /** What a caller must know besides the title. */
  description: string;
  /** The codes that the handler throws, without those that `errorCodesOf` derives from the declaration. */
  errors: readonly ErrorCode[];
  status: 200 | 201 | 202;
  query: TObject;
  body: TObject | null;
  /** An example body, if one with only the required fields would say little. */
  example?: unknown;
  response: TSchema;
  /** Whether Idempotency-Key is honoured. */
  keyed: boolean;
  /** True if the handler needs the engine. The engine is then checked before the transaction. */
  engine?: true;
}
