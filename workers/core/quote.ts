/** Quotes a text as one word of a shell command line. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
