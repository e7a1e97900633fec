import { type Static, type TSchema, Type } from 'typebox';
import { type Ajv, loadAjv } from './ajv.js';
import { atMost, stringFormats } from './string-formats.js';

/** An object without additional fields. With a name, the schema becomes a component of the OpenAPI document. */
export const Strict = <T extends Record<string, TSchema>>(fields: T, name?: string) =>
  Type.Object(fields, { additionalProperties: false, ...(name === undefined ? {} : { $id: name }) });
export const described = <T extends TSchema>(schema: T, description: string) =>
  Type.Unsafe<Static<T>>({ ...schema, description });

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
export const MAX_DATE_TIME_LENGTH = 40;
/** A longer string matches no pattern. */
export const MAX_PATTERN_TEXT_LENGTH = 4096;

/** Creates a JSON Schema validator with our formats. It does not coerce types or fill in defaults. */
export function createAjv(): Ajv {
  const { Ajv, _, addFormats, fullFormats } = loadAjv();
  const email = fullFormats.email as RegExp;
  const dateTime = fullFormats['date-time'] as { validate: (value: string) => boolean };
  // With allErrors, ajv checks the pattern and format even of a string that exceeds maxLength, so both have their own
  // limits.
  const ajv = new Ajv({
    allErrors: true,
    strict: true,
    allowUnionTypes: true,
    // Error messages need the schema's description.
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
  // The format of ajv-formats also accepts the prefix `urn:`.
  ajv.addFormat('uuid', UUID);
  for (const [name, validate] of Object.entries(stringFormats(() => new Date()))) ajv.addFormat(name, validate);
  return ajv;
}

/** Returns true if the text has at most `max` code points. Some code points take two UTF-16 units. */
function hasAtMost(max: number, text: string): boolean {
  if (text.length <= max) return true;
  if (text.length > 2 * max) return false;
  let count = 0;
  for (let i = 0; i < text.length; count++) i += (text.codePointAt(i) ?? 0) > 0xffff ? 2 : 1;
  return count <= max;
}

/**
 * Limits the text that a pattern is matched against, to bound the time. A subclass of RegExp keeps `toString()`, by
 * which ajv caches patterns.
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
