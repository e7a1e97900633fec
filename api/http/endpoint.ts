import { type TObject, type TSchema, Type } from 'typebox';
import type { ErrorCode } from '../../shared/core/error-registry.js';
import { STACK_NAME_PATTERN, TEMPLATE_NAME_PATTERN } from '../../shared/core/string-formats.js';

/** The root of the versioned API (specification, Versioning). */
export const API_ROOT = '/api/v1';
/** The root of the session routes, which are not versioned. */
export const SESSION_ROOT = '/api';

/** `signing-in` needs a proof of identity in the body. `key or session` applies the operation's policy. */
export type Access = 'anyone' | 'signing-in' | 'session' | 'key or session';

/** Path parameters that are names instead of ids → the pattern of the name. */
export const NAME_PARAMETERS: Readonly<Record<string, string>> = {
  stackName: STACK_NAME_PATTERN,
  templateName: TEMPLATE_NAME_PATTERN,
};

/** A route without its handler. */
export interface Endpoint {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  root: typeof API_ROOT | typeof SESSION_ROOT;
  /** The path relative to `root`. Every parameter is a UUID, except those in `NAME_PARAMETERS`. */
  path: string;
  access: Access;
  operation: string;
  summary: string;
  description: string;
  /** Error codes that the handler throws. `errorCodesOf` adds the codes that follow from the other fields. */
  errors: readonly ErrorCode[];
  status: 200 | 201 | 202;
  query: TObject;
  body: TObject | null;
  /** Maximum number of bytes of the body; `BODY_LIMIT` if absent. */
  bodyLimit?: number;
  /** An example body, for routes whose required fields alone would be a poor example. */
  example?: unknown;
  response: TSchema;
  keyed: boolean;
  /** Set if the handler queues work. The queue engine is then checked before the transaction. */
  engine?: true;
}

export const NOTHING = Type.Object({}, { additionalProperties: false });

/**
 * Returns an endpoint for requests without a declared route, such as those of git. The rate limits and the access log
 * need an endpoint.
 */
export function undeclared(given: Pick<Endpoint, 'method' | 'root' | 'path' | 'access' | 'operation'>): Endpoint {
  const open = { errors: [], query: NOTHING, body: null, response: NOTHING } as const;
  return { summary: '', description: '', status: 200, keyed: false, ...open, ...given };
}
