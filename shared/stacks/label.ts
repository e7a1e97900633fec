/** Converts a text to a label of lower-case letters, digits and hyphens. */
export function labelOf(text: string): string {
  return text
    .slice(0, 60)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
}
