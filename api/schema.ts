import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { oneOf } from '../shared/domain/configuration.js';
import { FORMATS } from '../shared/domain/formats.js';
import { ERROR_REGISTRY, type ErrorCode, type ErrorDetail } from '../shared/errors.js';

export { oneOf };

/** Building blocks that several resources' schemas share. */
export const Uuid = Type.String({ format: 'uuid' });
export const Timestamp = Type.String({ format: 'date-time' });
export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
/** An object without further fields. One with a name is a component of the OpenAPI document. */
export const Strict = <T extends Record<string, TSchema>>(fields: T, name?: string) =>
  Type.Object(fields, { additionalProperties: false, ...(name === undefined ? {} : { $id: name }) });
/** A name that people gave: at least one character that can be seen. */
export const Name = Type.String({ minLength: 1, maxLength: 100, pattern: '\\S' });
/** The answer of a deletion that is done. */
export const DeletedResponse = Strict({ deleted: Type.Literal(true) });

export const PageSchema = Strict(
  {
    limit: Type.Integer({ minimum: 1 }),
    hasMore: Type.Boolean(),
    nextCursor: Nullable(Type.String()),
  },
  'Page',
);

const ERROR_CODES = Object.keys(ERROR_REGISTRY) as ErrorCode[];

/** The body of every error response (design, Wire decisions). */
export const ErrorResponse = Strict(
  {
    error: Strict({
      code: oneOf(ERROR_CODES),
      message: Type.String({ minLength: 1 }),
      details: Type.Optional(Type.Array(Strict({ path: Type.String(), message: Type.String() }))),
    }),
    requestId: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$', maxLength: 64 }),
  },
  'ErrorResponse',
);
export type ErrorResponse = Static<typeof ErrorResponse>;

export const PageQuery = Strict({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
  cursor: Type.Optional(Type.String({ maxLength: 512 })),
});
export type PageQuery = Static<typeof PageQuery>;

const MOST_DETAILS = 20;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Compiles JSON Schemas with our formats. Bodies are neither coerced nor completed with defaults. */
export function createAjv(): Ajv {
  const ajv = new Ajv({ allErrors: true, strict: true, allowUnionTypes: true });
  addFormats.default(ajv);
  // The package's own format lets a urn: prefix pass, which no id of ours has.
  ajv.addFormat('uuid', UUID);
  for (const [name, validate] of Object.entries(FORMATS)) ajv.addFormat(name, validate);
  return ajv;
}

/** What is wrong with a value, `path` being `prefix` and the place in it. */
export function problemsOf(validate: ValidateFunction, value: unknown, prefix: string): ErrorDetail[] {
  if (validate(value)) return [];
  return (validate.errors ?? []).slice(0, MOST_DETAILS).map((error) => toDetail(error, prefix));
}

function toDetail({ instancePath, keyword, params, message }: ErrorObject, prefix: string): ErrorDetail {
  const path = prefix === '' ? instancePath : prefix + instancePath.slice(1).replaceAll('/', '.');
  switch (keyword) {
    case 'additionalProperties':
      return { path: join(path, prefix, params.additionalProperty), message: 'is not a known field' };
    case 'required':
      return { path: join(path, prefix, params.missingProperty), message: 'is required' };
    case 'enum':
      return { path, message: `must be one of ${params.allowedValues.join(', ')}` };
    default:
      return { path, message: message ?? 'is not valid' };
  }
}

/** A field below a place: a JSON pointer in the body, `query.<name>` in the query. */
function join(path: string, prefix: string, field: string): string {
  if (prefix !== '') return path === prefix ? prefix + field : `${path}.${field}`;
  return `${path}/${field.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** The names of a query's integers: the wire has only text. */
export function integerFields(schema: TObject): string[] {
  return Object.entries(schema.properties)
    .filter(([, field]) => field.type === 'integer')
    .map(([name]) => name);
}
