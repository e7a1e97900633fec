import { type TStringOptions, Type } from 'typebox';

/**
 * Part of a character class: characters that control terminals or disguise a text. These are control characters (C0,
 * DEL, C1), line and paragraph separators, and Unicode's controls of the writing direction. Characters above \xff are
 * written literally, because JavaScript, RE2 and Python have no common escape for them.
 */
const ACTING = '\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\u2066-\u2069\u2028-\u202e';
/** The characters of `ACTING`, tabs and line breaks. Names must contain none of them. */
export const CONTROL = `\\t\\n\\r${ACTING}`;

/**
 * Matches the characters of `CONTROL`, and unpaired surrogates. `api/http/parse-json.ts` refuses unpaired surrogates in
 * requests, but strings from other sources can contain them.
 */
const CONTROLS = new RegExp(`[${CONTROL}\\ud800-\\udfff]`, 'gu');

/** Returns the schema of a single-line string, such as a name. Rows stored by earlier versions may violate it. */
export const plainLine = (maxLength: number, options: TStringOptions = {}) =>
  Type.String({
    maxLength,
    pattern: `^[^${CONTROL}]*$`,
    description: 'one line without control characters',
    ...options,
  });

/** Returns the schema of a multi-line string. */
export const plainText = (maxLength: number, options: TStringOptions = {}) =>
  Type.String({ maxLength, pattern: `^[^${ACTING}]*$`, description: 'a text without control characters', ...options });

/** Returns the schema of a name: a single line with at least one visible character. */
export const plainName = () =>
  plainLine(100, {
    minLength: 1,
    pattern: `^[^${CONTROL}]*[^\\s${CONTROL}][^${CONTROL}]*$`,
    description: 'one line with a visible character and without control characters',
  });

/** Escapes control characters as in \u001b. Terminals and browsers then show them instead of interpreting them. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export function hasControls(text: string): boolean {
  return text.search(CONTROLS) >= 0;
}
