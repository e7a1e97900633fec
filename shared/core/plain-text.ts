/**
 * Characters that no name has, as a part of a character class: controls (C0, DEL, C1), line and paragraph separators, overrides and
 * isolates of the writing direction, and halves of surrogate pairs. They end lines, act in terminals, or make a text look like another.
 */
export const CONTROL = '\\u0000-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff';

const CONTROLS = new RegExp(`[${CONTROL}]`, 'gu');

/** The text with such characters written as \\u001b, so that whoever shows it shows them and nothing more. */
export function escapeControls(text: string, kept = ''): string {
  return text.replace(CONTROLS, (found) =>
    kept.includes(found) ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

export function hasControls(text: string): boolean {
  return text.search(CONTROLS) >= 0;
}
