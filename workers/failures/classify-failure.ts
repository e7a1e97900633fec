import { AppError, errorMessage } from '../../shared/core/error-registry.js';
import { SealError } from '../../shared/secrets/keyring.js';
import { ExplainedError } from './explained-errors.js';
import { Interrupted, type Interruption } from './interruption-errors.js';

/** Errors whose cause a user can fix. Every other error is a fault of the platform and is retried. */
const EXPLAINED = [ExplainedError, SealError, AppError];

/** How work on a record, such as a deployment or a run, ended if it did not succeed. */
export type Failure =
  | { type: 'interrupted'; why: Interruption }
  | { type: 'failed'; cause: string }
  | { type: 'platformFault'; error: unknown };

/**
 * Classifies an error that was thrown during work on a record. If the signal was aborted with an `Interrupted`, the
 * interruption counts as the cause, because the abort may have led to any other error.
 */
export function failureOf(error: unknown, signal: AbortSignal): Failure {
  const cause = signal.aborted && signal.reason instanceof Interrupted ? signal.reason : error;
  if (cause instanceof Interrupted) return { type: 'interrupted', why: cause.why };
  if (EXPLAINED.some((kind) => cause instanceof kind)) return { type: 'failed', cause: errorMessage(cause) };
  return { type: 'platformFault', error: cause };
}
