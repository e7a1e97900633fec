import { type Static, type TSchema, Type } from 'typebox';
import { type Ajv, loadAjv } from './ajv.js';
import { atMost, stringFormats } from './string-formats.js';

/**
 * Builds the schema of an object without additional fields. If named, it becomes a component of the OpenAPI document.
 */
export const Strict = <T extends Record<string, TSchema>>(fields: T, name?: string) =>
  Type.Object(fields, { additionalProperties: false, ...(name === undefined ? {} : { $id: name }) });
/** Returns a copy of the schema with its own description. */
export const described = <T extends TSchema>(schema: T, description: string) =>
  Type.Unsafe<Static<T>>({ ...schema, description });

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
export const MAX_DATE_TIME_LENGTH = 40;
/** Maximum length of a string that is matched against a pattern, in characters. A longer one counts as a mismatch. */
export const MAX_PATTERN_TEXT_LENGTH = 4096;

/** Creates a JSON Schema validator with our formats. It does not coerce types or fill in defaults. */
export function createAjv(): Ajv {
  const { Ajv, _, addFormats, fullFormats } = loadAjv();
  const email = fullFormats.email as RegExp;
  const dateTime = fullFormats['date-time'] as { validate: (value: string) => boolean };
  // With allErrors, patterns and formats are also applied to strings that exceed maxLength, so they need limits of
  // their own.
  const ajv = new Ajv({
    allErrors: true,
    strict: true,
    allowUnionTypes: true,
    // Adds the schema to each error, because error messages use its description.
    verbose: true,
    code: { regExp: boundedPattern },
  });
  // ajv's own keyword counts the characters of every string, which takes 5 ms per million.
  ajv.removeKeyword('maxLength').addKeyword({
    keyword: 'maxLength',
    type: 'string',
    schemaType: 'number',
    compile: (max: number) => (text: string) => hasAtMost(max, text),
    error: { message: 'must be shorter', params: ({ schemaCode }) => _`{limit: ${schemaCode}}` },
  });
  addFormats(ajv);
  ajv.addFormat(
    'email',
    atMost(254, (value) => email.test(value)),
  );
  ajv.addFormat('date-time', atMost(MAX_DATE_TIME_LENGTH, dateTime.validate));
  // The format of ajv-formats also accepts the prefix `urn:`, which our ids do not have.
  ajv.addFormat('uuid', UUID);
  for (const [name, validate] of Object.entries(stringFormats(() => new Date()))) ajv.addFormat(name, validate);
  return ajv;
}

/** Returns true if the string has at most `max` code points. Some take two UTF-16 units. */
function hasAtMost(max: number, text: string): boolean {
  if (text.length <= max) return true;
  if (text.length > 2 * max) return false;
  let count = 0;
  for (let i = 0; i < text.length; count++) i += (text.codePointAt(i) ?? 0) > 0xffff ? 2 : 1;
  return count <= max;
}

/**
 * A regular expression that never matches a string beyond the length limit. This bounds the time of a match. ajv caches
 * patterns by their `toString()`, so this must be a subclass of RegExp.
 */
class BoundedPattern extends RegExp {
  override test(text: string): boolean {
    return text.length <= MAX_PATTERN_TEXT_LENGTH && super.test(text);
  }
}

function boundedPattern(pattern: string, flags: string): BoundedPattern {
  return new BoundedPattern(pattern, flags);
}
boundedPattern.code = 'boundedPattern';
