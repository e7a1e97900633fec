import { AppError } from '../../shared/core/error-registry.js';

/** Returns the row. Throws not_found if it is undefined. */
export function found<T>(row: T | undefined): T {
  if (row === undefined) throw new AppError('not_found');
  return row;
}

/** Returns the answer to a deletion. Throws not_found if the record did not exist. */
export function deleted(existed: boolean): { deleted: true } {
  if (!existed) throw new AppError('not_found');
  return { deleted: true };
}

/** Throws invalid_confirmation unless `confirm` is the name of the record to change irreversibly. */
export function assertConfirmed(confirm: string, { name }: { name: string }): void {
  if (confirm === name) return;
  throw new AppError('invalid_confirmation', undefined, [{ path: '/confirm', message: 'must be the exact name' }]);
}
