import type { ErrorObject, ValidateFunction } from './ajv.js';
import type { ErrorDetail } from './error-registry.js';
import { pointerPart } from './json-fields.js';

const MAX_DETAILS = 20;
/** One body can cause hundreds of thousands of errors, too many to compare all of them. */
const MAX_COMPARED = 200;

const FORMATS: Record<string, string> = {
  branch: 'the name of a branch: letters, digits and . _ / # @ + -, as git accepts it',
  cron: 'a schedule of five fields, such as 0 * * * *',
  'date-time': 'a time such as 2026-01-31T12:00:00Z',
  email: 'an e-mail address',
  'ip-range': 'an address or a range, such as 192.0.2.1 or 192.0.2.0/24',
  'time-zone': 'the name of a time zone, such as Europe/Berlin',
  uuid: 'a UUID',
};

/** Lists the problems of a value. Each path begins with `prefix`. */
export function problemsOf(validate: ValidateFunction, value: unknown, prefix: string): ErrorDetail[] {
  if (validate(value)) return [];
  const errors = (validate.errors ?? []).slice(0, MAX_COMPARED);
  return errors
    .filter((error) => !isImplied(error, errors))
    .slice(0, MAX_DETAILS)
    .map((error) => toDetail(error, prefix));
}

/** Returns true if another error describes the same problem better. */
function isImplied(
  { keyword, instancePath, params, schemaPath }: ErrorObject,
  errors: readonly ErrorObject[],
): boolean {
  const others = (tells: (other: ErrorObject) => boolean) => errors.some((other) => tells(other));
  switch (keyword) {
    // The error about a pattern may be untrue, because `createAjv` lets no string of more than 4096 characters match a
    // pattern. So only the error about the length is reported.
    case 'pattern':
    case 'format':
      return others((other) => other.instancePath === instancePath && /^m(?:in|ax)Length$/.test(other.keyword));
    // Each alternative of `oneOf` reports its own missing field. Only the error of `oneOf` itself names all
    // alternatives.
    case 'required':
      return schemaPath.includes('/oneOf/');
    // An alternative of `anyOf` can report a more exact error.
    case 'anyOf':
      return others((other) => other.keyword !== 'anyOf' && isAtOrBelow(other.instancePath, instancePath));
    case 'type': {
      const hasAlternative = (other: ErrorObject) =>
        isAtOrBelow(other.instancePath, instancePath) && other.params.type !== 'null' && other.keyword !== 'anyOf';
      if (params.type === 'null') return others(hasAlternative);
      // If the value has the type of another alternative of `anyOf`, only the errors of that alternative help the user.
      const isTyped = (other: ErrorObject) => other.keyword !== 'type' || other.instancePath !== instancePath;
      return schemaPath.includes('/anyOf/') && others((other) => hasAlternative(other) && isTyped(other));
    }
    default:
      return false;
  }
}

function isAtOrBelow(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`);
}

/** Converts a validation error to an error detail. Its path begins with `prefix`. */
export function toDetail(error: ErrorObject, prefix: string): ErrorDetail {
  const { instancePath, keyword, params } = error;
  const path = prefix === '' ? instancePath : prefix + instancePath.slice(1).replaceAll('/', '.');
  if (keyword === 'additionalProperties')
    return { path: join(path, prefix, params.additionalProperty), message: 'is not a known field' };
  if (keyword === 'required') return { path: join(path, prefix, params.missingProperty), message: 'is required' };
  if (keyword === 'oneOf') {
    const alternatives = error.schema as readonly { required: string[] }[];
    const [field = '', ...others] = alternatives.flatMap(({ required }) => required);
    const message = `is required unless ${others.join(' or ')} is given, and must not be given with it`;
    return { path: join(path, prefix, field), message };
  }
  return { path, message: messageOf(error) };
}

function messageOf({ keyword, params, message, parentSchema }: ErrorObject): string {
  switch (keyword) {
    case 'enum':
      return `must be one of ${params.allowedValues.join(', ')}`;
    case 'not':
    case 'pattern':
      return parentSchema?.description === undefined
        ? (message ?? '')
        : `must be ${firstSentence(parentSchema.description)}`;
    case 'format':
      return `must be ${FORMATS[params.format] ?? `of the format ${params.format}`}`;
    case 'minLength':
      return params.limit === 1 ? 'must not be empty' : `must have at least ${params.limit} characters`;
    case 'maxLength':
      return `must have at most ${params.limit} characters`;
    case 'minItems':
      return params.limit === 1 ? 'must not be empty' : `must have at least ${params.limit} entries`;
    case 'maxItems':
      return params.limit === 1 ? 'must have at most one entry' : `must have at most ${params.limit} entries`;
    case 'minimum':
      return `must be at least ${params.limit}`;
    case 'maximum':
      return `must be at most ${params.limit}`;
    case 'type':
      return `must be ${withArticle(params.type)}`;
    default:
      return message ?? 'is not valid';
  }
}

function firstSentence(description: string): string {
  return description.split(/\. (?=[A-Z])/, 1)[0] ?? '';
}

function withArticle(type: string | string[]): string {
  if (typeof type !== 'string') return type.join(' or ');
  if (type === 'null') return type;
  return `${/^[aio]/.test(type) ? 'an' : 'a'} ${type}`;
}

function join(path: string, prefix: string, field: string): string {
  if (prefix !== '') return path === prefix ? prefix + field : `${path}.${field}`;
  return `${path}/${pointerPart(field)}`;
}
