/** True for a text that is not blank. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

/** True for an object that is no list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object that a text holds as JSON; null if it holds none, or no JSON. */
export function recordIn(text: string | undefined): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

/** A text without the blanks around it; null for a blank one, and for anything else. */
export function filled(value: unknown): string | null {
  return isText(value) ? value.trim() : null;
}
