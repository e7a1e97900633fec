import { AppError, errorMessage } from '../../shared/core/error-registry.js';
import { SealError } from '../../shared/secrets/keyring.js';
import { ExplainedError } from './explained-errors.js';
import { Interrupted, type Interruption } from './interruption-errors.js';

const EXPLAINED = [ExplainedError, SealError, AppError];

export type Failure =
  | { type: 'interrupted'; why: Interruption }
  | { type: 'failed'; cause: string }
  | { type: 'platformFault'; error: unknown };

/** Classifies an error. An `Interrupted` of the signal comes first, because an abort may cause any error. */
export function failureOf(error: unknown, signal: AbortSignal): Failure {
  const cause = signal.aborted && signal.reason instanceof Interrupted ? signal.reason : error;
  if (cause instanceof Interrupted) return { type: 'interrupted', why: cause.why };
  if (EXPLAINED.some((kind) => cause instanceof kind)) return { type: 'failed', cause: errorMessage(cause) };
  return { type: 'platformFault', error: cause };
}
