/** Returns a field of untrusted JSON; undefined if the value is not an object or lacks the field. */
export function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

export function text(value: unknown, name: string): string {
  const found = field(value, name);
  return typeof found === 'string' ? found : '';
}

/** Parses untrusted text as JSON; null if it is malformed. */
export function parsedJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

/** Escapes a name for use as one part of a JSON pointer. */
export function pointerPart(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Returns the name that one part of a JSON pointer stands for. */
export function nameOfPart(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}
