import type { HeaderChange } from './rule-set.js';

/** Applies changes to a response's headers, a flat list of names and values. A later change wins. */
export function changedHeaders(flat: string[], changes: readonly HeaderChange[] | null): string[] {
  if (changes === null) return flat;
  let headers = flat;
  for (const { set, without } of changes) {
    const kept: string[] = [];
    for (let i = 0; i + 1 < headers.length; i += 2) {
      if (!without.has((headers[i] ?? '').toLowerCase())) kept.push(headers[i] ?? '', headers[i + 1] ?? '');
    }
    for (const { name, value } of set) kept.push(name, value);
    headers = kept;
  }
  return headers;
}
