import { AppError, errorMessage } from '../shared/core/errors.js';
import { SealError } from '../shared/secrets/keyring.js';
import { BackupError } from './backups/backup-error.js';
import { BuildError } from './builders/builder.js';
import { TenantFileError } from './data/tenant-folder.js';
import { Interrupted, type Interruption } from './interrupted.js';
import { ReleaseError } from './runtime/runtime-driver.js';
import { SourceError } from './sources/repository-source.js';

/** Failures with a cause that a person can act on. Everything else is a fault of the platform and is tried again. */
const EXPLAINED = [SourceError, BuildError, ReleaseError, BackupError, TenantFileError, SealError, AppError];

/** Why work on a record ended early. */
export type Failure =
  | { type: 'interrupted'; why: Interruption }
  | { type: 'failed'; cause: string }
  | { type: 'platformFault'; error: unknown };

/**
 * Classifies an error that work has thrown. If the signal was aborted, its reason is the cause of every later error.
 */
export function failureOf(error: unknown, signal: AbortSignal): Failure {
  const cause = signal.aborted && signal.reason instanceof Interrupted ? signal.reason : error;
  if (cause instanceof Interrupted) return { type: 'interrupted', why: cause.why };
  if (EXPLAINED.some((kind) => cause instanceof kind)) return { type: 'failed', cause: errorMessage(cause) };
  return { type: 'platformFault', error: cause };
}
