import type { Static } from '@sinclair/typebox';
import type { VariableContent } from '../../../shared/domain/variable.js';
import { invalidRequest } from '../../../shared/errors.js';
import type { UpdateVariableBody } from './schema.js';

/** What a body says that a variable holds: exactly one of value and reference. Throws invalid_request. */
export function contentOf({ value, reference }: Static<typeof UpdateVariableBody>): VariableContent {
  if (value !== undefined && reference === undefined) return { value };
  if (reference !== undefined && value === undefined) return { reference };
  throw invalidRequest('/value', 'is needed, or a reference, and not both');
}
