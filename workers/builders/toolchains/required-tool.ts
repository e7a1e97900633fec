/** A program that a build needs on the host in addition to the compiler or interpreter. */
export interface Tool {
  name: string;
  /** A shell command that succeeds if the tool is installed. */
  check: string;
  advice: string;
}

export function program(name: string, advice: string): Tool {
  return { name, check: `command -v ${name}`, advice };
}
