/** Returns true for a text that is not blank. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

/** Returns true for an object that is not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the object in a text of JSON; null if the text holds no object or is no JSON. */
export function recordIn(text: string | undefined): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

/** Returns a text without surrounding blanks; null for a blank text and for any other value. */
export function filled(value: unknown): string | null {
  return isText(value) ? value.trim() : null;
}
