import type { ErrorCode } from '../../shared/core/error-registry.js';
import { POLICIES, type Policy } from '../../shared/identity/policy.js';
import type { Endpoint } from './endpoint.js';

/** Returns the codes with which an operation can answer, from its declaration and its handler. */
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
    forbidden: inWorkspace && (writes || policy?.role !== 'viewer'),
    // Even reads are refused to pages of another site.
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
  };
  const implied = (Object.keys(codes) as ErrorCode[]).filter((code) => codes[code]);
  return [...new Set([...implied, ...errors])];
}

/** Returns an operation's policy; undefined for a session's operation. */
export function policyOf(operation: string): Policy | undefined {
  return (POLICIES as Readonly<Record<string, Policy>>)[operation];
}
