import { parsedJson } from '../../../shared/core/json-fields.js';

/** Returns true for a string that is not blank. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

/** Returns true for an object that is not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value if it is an object and not an array; otherwise {}. */
export function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

/** Parses a JSON object. Returns null if the text is not valid JSON or not an object. */
export function recordIn(text: string | undefined): Record<string, unknown> | null {
  const value = parsedJson(text ?? '');
  return isRecord(value) ? value : null;
}

/** Returns a string without surrounding white space; null for a blank string and for any other value. */
export function filled(value: unknown): string | null {
  return isText(value) ? value.trim() : null;
}
