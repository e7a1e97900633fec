import { type TStringOptions, Type } from 'typebox';

/**
 * Characters that control terminals or disguise a text: C0, DEL, C1, line separators, controls of the writing
 * direction. Characters above \xff are literal, because JavaScript, RE2 and Python have no common escape for them.
 */
const ACTING = '\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\u2066-\u2069\u2028-\u202e';
export const CONTROL = `\\t\\n\\r${ACTING}`;

/** Also matches unpaired surrogates. Request bodies cannot contain them, but strings from other sources can. */
const CONTROLS = new RegExp(`[${CONTROL}\\ud800-\\udfff]`, 'gu');

/** Returns the schema of a single-line string. Rows stored by earlier versions may violate it. */
export const plainLine = (maxLength: number, options: TStringOptions = {}) =>
  Type.String({
    maxLength,
    pattern: `^[^${CONTROL}]*$`,
    description: 'one line without control characters',
    ...options,
  });

export const plainText = (maxLength: number, options: TStringOptions = {}) =>
  Type.String({ maxLength, pattern: `^[^${ACTING}]*$`, description: 'a text without control characters', ...options });

export const plainName = () =>
  plainLine(100, {
    minLength: 1,
    pattern: `^[^${CONTROL}]*[^\\s${CONTROL}][^${CONTROL}]*$`,
    description: 'one line with a visible character and without control characters',
  });

/** Escapes control characters, as in \u001b, so that terminals and browsers show them. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export function hasControls(text: string): boolean {
  return text.search(CONTROLS) >= 0;
}
