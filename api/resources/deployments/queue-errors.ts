import type { ErrorCode } from '../../../shared/core/error-registry.js';

/** Error codes with which queueing a deployment can fail, in addition to those of every write. */
export const QUEUE_ERRORS: readonly ErrorCode[] = [
  'source_invalid',
  'billing_required',
  'conflict',
  'idempotency_legacy_conflict',
  'service_archived',
  'hosting_disabled',
  'capacity_exceeded',
];
