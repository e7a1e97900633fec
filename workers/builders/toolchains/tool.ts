/** A program that a build needs on the host. */
export interface Tool {
  name: string;
  /** A shell command that succeeds if the tool is installed. */
  check: string;
  /** What to do if it is not. */
  advice: string;
  /** Installs the tool below `$TOOLS` in a container without it; absent if only another base image helps. */
  install?: string;
}

export function program(name: string, advice: string, install?: string): Tool {
  return { name, check: `command -v ${name}`, advice, ...(install === undefined ? {} : { install }) };
}
