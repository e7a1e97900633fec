import { Type } from '@sinclair/typebox';
import { AppError } from '../shared/errors.js';
import { Strict } from './schema.js';

/** `confirm` is the name of what is to be changed for good. */
export const ConfirmBody = Strict({ confirm: Type.String({ maxLength: 1000 }) });

/** Throws invalid_confirmation unless the caller typed the very name. */
export function assertConfirmed(confirm: string, { name }: { name: string }): void {
  if (confirm === name) return;
  throw new AppError('invalid_confirmation', undefined, [{ path: '/confirm', message: 'must be the exact name' }]);
}
