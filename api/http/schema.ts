import { type Static, type TObject, type TSchema, Type } from 'typebox';
import { ERROR_REGISTRY, type ErrorCode } from '../../shared/core/error-registry.js';
import {
  createAjv,
  described,
  MAX_DATE_TIME_LENGTH,
  MAX_PATTERN_TEXT_LENGTH,
  Strict,
} from '../../shared/core/json-schema.js';
import { plainName } from '../../shared/core/plain-text.js';
import { oneOf } from '../../shared/services/configuration.js';
import { VALUE_BYTES } from '../../shared/variables/model.js';

export { createAjv, described, MAX_DATE_TIME_LENGTH, MAX_PATTERN_TEXT_LENGTH, oneOf, Strict };

export const Uuid = Type.String({ format: 'uuid', maxLength: 36 });
export const Timestamp = Type.String({ format: 'date-time' });
export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
export const Name = plainName();
export const ConfirmBody = Strict({
  confirm: Type.String({
    maxLength: 1000,
    description: 'The exact name of the record that is changed or deleted permanently',
  }),
});
export const TextMap = (maxProperties: number, description: string) =>
  Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: { type: 'string', maxLength: VALUE_BYTES },
    maxProperties,
    description,
  });
export const DeletedResponse = Strict({ deleted: Type.Literal(true) });

export const PageSchema = Strict(
  {
    limit: Type.Integer({ minimum: 1 }),
    hasMore: Type.Boolean(),
    nextCursor: Nullable(Type.String({ description: 'Send it as cursor, with the same filters, for the next page' })),
  },
  'Page',
);

const ERROR_CODES = Object.keys(ERROR_REGISTRY) as ErrorCode[];

/** The body of every error response (specification, Errors). */
export const ErrorResponse = Strict(
  {
    error: Strict({
      code: oneOf('ErrorCode', ERROR_CODES),
      message: Type.String({ minLength: 1 }),
      details: Type.Optional(Type.Array(Strict({ path: Type.String(), message: Type.String() }))),
    }),
    requestId: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$', maxLength: 64 }),
  },
  'ErrorResponse',
);
export type ErrorResponse = Static<typeof ErrorResponse>;

export const PageQuery = Strict({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Items on the page' })),
  cursor: Type.Optional(
    Type.String({ maxLength: 512, description: 'The nextCursor of the previous page; absent for the first page' }),
  ),
});
export type PageQuery = Static<typeof PageQuery>;

/** Returns the names of a query's integer fields, which arrive as text and are converted. */
export function integerFields(schema: TObject): string[] {
  return Object.entries(schema.properties)
    .filter(([, field]) => 'type' in field && field.type === 'integer')
    .map(([name]) => name);
}
