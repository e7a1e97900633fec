/** Quotes a text as one word of a shell command line. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Quotes a text as one shell word only if necessary, so that commands stay readable. */
export function quoteIfNeeded(text: string): string {
  return /^[\w@./:=+-]+$/.test(text) ? text : quote(text);
}
