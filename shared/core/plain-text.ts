import { type TStringOptions, Type } from 'typebox';

/**
 * Characters that act in terminals or make a text look like another: controls (C0, DEL, C1), line and paragraph separators, overrides and
 * isolates of the writing direction, and halves of surrogate pairs. As a part of a character class.
 */
const ACTING =
  '\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff';
/** Those, tabs and line ends: no name has them. */
export const CONTROL = `${ACTING}\\t\\n\\r`;

const CONTROLS = new RegExp(`[${CONTROL}]`, 'gu');

/** Returns the schema of a one-line text: every name, and what is shown beside names. Rows that were stored before may break it. */
export const plainLine = (maxLength: number, options: TStringOptions = {}) =>
  Type.String({
    maxLength,
    pattern: `^[^${CONTROL}]*$`,
    description: 'one line without control characters',
    ...options,
  });

/** The schema of a text of several lines. */
export const plainText = (maxLength: number, options: TStringOptions = {}) =>
  Type.String({ maxLength, pattern: `^[^${ACTING}]*$`, description: 'a text without control characters', ...options });

/** The schema of a name: one line with a visible character. */
export const plainName = () =>
  plainLine(100, {
    minLength: 1,
    pattern: `^[^${CONTROL}]*[^\\s${CONTROL}][^${CONTROL}]*$`,
    description: 'one line with a visible character and without control characters',
  });

/** Writes control characters as \u001b, so that terminals and pages show them without acting on them. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export function hasControls(text: string): boolean {
  return text.search(CONTROLS) >= 0;
}
