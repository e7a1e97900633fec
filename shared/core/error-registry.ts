/** Every error code that a caller can receive, with its HTTP status and default message (specification, Errors). */
export const ERROR_REGISTRY = {
  invalid_json: { status: 400, message: 'The request body is not valid JSON' },
  invalid_request: { status: 400, message: 'The request has invalid values' },
  invalid_cursor: { status: 400, message: 'The cursor does not belong to this request' },
  invalid_confirmation: { status: 400, message: 'The confirmation does not match the name' },
  source_invalid: { status: 400, message: 'The service has no source that can be deployed' },
  canvas_invalid_node: { status: 400, message: 'A node is not part of the current canvas' },
  unauthenticated: { status: 401, message: 'Authentication is missing, invalid or expired' },
  forbidden: { status: 403, message: 'This role or key scope does not permit the operation' },
  csrf_failed: { status: 403, message: 'The X-CSRFToken header is missing or does not match the session' },
  email_unverified: { status: 403, message: 'The e-mail address of this user is not verified' },
  mfa_required: { status: 403, message: 'This workspace requires multi-factor authentication' },
  billing_required: { status: 403, message: 'The operation needs a paid plan or budget' },
  not_found: { status: 404, message: 'The resource does not exist' },
  method_not_allowed: { status: 405, message: 'The method is not supported on this path' },
  conflict: { status: 409, message: 'The resource is in conflict with the request' },
  idempotency_conflict: { status: 409, message: 'This Idempotency-Key was used with another payload' },
  idempotency_legacy_conflict: {
    status: 409,
    message: 'A deployment with this key exists and its receipt has expired; look at that deployment first',
  },
  service_archived: { status: 409, message: 'The service is archived; restore it first' },
  port_closed: { status: 409, message: 'Nothing of the service listens on this port' },
  shell_limit: { status: 409, message: 'As many shells are open as a service or a workspace may have; end one first' },
  deployment_terminal: { status: 409, message: 'The deployment has already ended' },
  no_runtime: { status: 409, message: 'The service has no provisioned runtime; deploy it first' },
  hosting_disabled: { status: 409, message: 'Hosting is disabled on this installation' },
  capacity_exceeded: { status: 409, message: 'The plan has no capacity left for this' },
  volume_single_replica: { status: 409, message: 'A service with a volume has one replica' },
  volume_in_use: {
    status: 409,
    message: 'The service runs with the volume; suspend the service first, or delete the service',
  },
  engine_unavailable: { status: 409, message: 'The queue engine cannot be reached; nothing was stored, try again' },
  canvas_revision_conflict: { status: 409, message: 'The canvas has a newer revision; read it again first' },
  plan_changed: { status: 409, message: 'The plan is no longer what was seen; plan again and look at it' },
  apply_running: { status: 409, message: 'An apply of this stack is running; wait for its end or cancel it' },
  owned_elsewhere: { status: 409, message: 'A resource that the document names belongs to another stack' },
  payload_too_large: { status: 413, message: 'The request body exceeds 262144 bytes' },
  canvas_too_large: { status: 413, message: 'The canvas scope has too many nodes or edges' },
  rate_limited: { status: 429, message: 'Too many requests; retry after the time given' },
  internal_error: { status: 500, message: 'Unexpected server failure' },
  database_unavailable: {
    status: 503,
    message: 'The database cannot be reached now; send the request again, with the same Idempotency-Key',
  },
  request_timeout: {
    status: 503,
    message: 'The request took too long and changed nothing; ask for less, or try again',
  },
} as const satisfies Record<string, { status: number; message: string }>;

export type ErrorCode = keyof typeof ERROR_REGISTRY;

/** `path` is a JSON pointer into the body, `query.<name>` or `header.<name>`. */
export interface ErrorDetail {
  path: string;
  message: string;
}

/** A failure that the caller can understand and act on. Any other error is a bug and results in a 500 response. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetail[] | undefined;

  constructor(code: ErrorCode, message?: string, details?: ErrorDetail[]) {
    super(message ?? ERROR_REGISTRY[code].message);
    this.name = 'AppError';
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return ERROR_REGISTRY[this.code].status;
  }
}

/** Creates a `conflict` error. The message says what the caller must do before the operation is possible. */
export function conflict(message: string): AppError {
  return new AppError('conflict', message);
}

export function invalidRequest(path: string, message: string): AppError {
  return new AppError('invalid_request', undefined, [{ path, message }]);
}

/** Creates an `invalid_request` error for a field. Some clients show only the message, so it names the field. */
export function invalidField(field: string, message: string): AppError {
  return new AppError('invalid_request', `${field} ${message}`, [{ path: `/${field}`, message }]);
}

/** A tenant's server can send an error message of any length. */
const MAX_MESSAGE_CHARACTERS = 10_000;

/** Returns the message of any thrown value, truncated, and without NUL, which PostgreSQL cannot store. */
export function errorMessage(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.slice(0, MAX_MESSAGE_CHARACTERS).replaceAll('\0', '\ufffd');
}
