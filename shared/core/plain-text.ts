import { type TStringOptions, Type } from 'typebox';

/**
 * The part of a character class for characters that control terminals or disguise a text: controls (C0, DEL, C1), line
 * and paragraph separators, overrides and isolates of the writing direction. Characters above \\xff are written
 * literally, because JavaScript, RE2 and Python share no escape for them.
 */
const ACTING = '\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\u2066-\u2069\u2028-\u202e';
/** `ACTING`, tabs and line ends. Names contain none of them. */
export const CONTROL = `\\t\\n\\r${ACTING}`;

/** Includes unpaired surrogates: a request cannot contain them (`api/http/parse-json.ts`), other texts can. */
const CONTROLS = new RegExp(`[${CONTROL}\\ud800-\\udfff]`, 'gu');

/** Returns the schema of a one-line text, such as a name. Rows from earlier versions may violate it. */
export const plainLine = (maxLength: number, options: TStringOptions = {}) =>
  Type.String({
    maxLength,
    pattern: `^[^${CONTROL}]*$`,
    description: 'one line without control characters',
    ...options,
  });

/** Returns the schema of a text of several lines. */
export const plainText = (maxLength: number, options: TStringOptions = {}) =>
  Type.String({ maxLength, pattern: `^[^${ACTING}]*$`, description: 'a text without control characters', ...options });

/** Returns the schema of a name: one line with at least one visible character. */
export const plainName = () =>
  plainLine(100, {
    minLength: 1,
    pattern: `^[^${CONTROL}]*[^\\s${CONTROL}][^${CONTROL}]*$`,
    description: 'one line with a visible character and without control characters',
  });

/** Writes control characters as \u001b, so that terminals and pages show them and do not act on them. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export function hasControls(text: string): boolean {
  return text.search(CONTROLS) >= 0;
}
