/** One small change of the code that a test should notice. `find` stands in the compiled file. */
export interface Fault {
  name: string;
  /** The source, from the root. */
  file: string;
  find: string;
  replace: string;
  /** How often `find` stands in the file: all of these are replaced. 1 if left out. */
  places?: number;
}

/** The compiled text with the fault in it; null if the fault does not match the code any more. */
export function withFault(text: string, { find, replace, places = 1 }: Fault): string | null {
  const parts = text.split(find);
  return parts.length === places + 1 ? parts.join(replace) : null;
}
