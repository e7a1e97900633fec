import type { ErrorCode } from '../../shared/core/error-registry.js';
import { POLICIES, type Policy } from '../../shared/identity/policy.js';
import type { Endpoint } from './endpoint.js';

/** Returns all error codes that a route's responses can contain. */
export function errorCodesOf(endpoint: Endpoint): ErrorCode[] {
  const { path, access, operation, query, body, keyed, engine, errors } = endpoint;
  const policy = policyOf(operation);
  const writes = policy?.access === 'write';
  const inWorkspace = path.includes(':workspaceId');
  const codes: Partial<Record<ErrorCode, boolean>> = {
    invalid_json: body !== null,
    invalid_request: true,
    invalid_cursor: 'cursor' in query.properties,
    invalid_confirmation: body !== null && 'confirm' in body.properties,
    unauthenticated: access !== 'anyone',
    // Reads can be forbidden too, because a workspace can refuse sessions that were started with a password.
    forbidden: inWorkspace,
    // Requests from pages of other sites are refused, even reads.
    csrf_failed: access !== 'anyone',
    email_unverified: inWorkspace && writes,
    mfa_required: inWorkspace && writes,
    not_found: path.includes(':'),
    idempotency_conflict: keyed,
    engine_unavailable: engine === true,
    payload_too_large: body !== null,
    rate_limited: true,
    internal_error: true,
    request_timeout: true,
    database_unavailable: true,
  };
  const implied = (Object.keys(codes) as ErrorCode[]).filter((code) => codes[code]);
  return [...new Set([...implied, ...errors])];
}

/** Returns true if a request that got this status may succeed later. */
export function isTransient(status: number): boolean {
  return status === 429 || status === 503;
}

/** Returns an operation's policy; undefined for operations of the session routes, which have none. */
export function policyOf(operation: string): Policy | undefined {
  return (POLICIES as Readonly<Record<string, Policy>>)[operation];
}
