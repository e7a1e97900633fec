import type { BuildContext } from './builder.js';

/** Lines of one command's output that reach the log in full; of what comes after them only the last ones do. */
const MOST_LINES = 20_000;
const LAST_LINES = 20;

/** What package managers say after every failure, whatever its cause. */
const BOILERPLATE = [
  /^npm (err!|error)( A complete log| *$| code | errno| path | command | workspace | location | Lifecycle script| signal)/i,
  /^npm (err!|error)\s+\S+\.log$/i,
  /^(npm )?(notice|warn)\b/i,
  /^Node\.js v\d/,
  /^\s+at /,
  /^\s*[\^~]+\s*$/,
  /^[{}()[\];,\s]*$/,
  /ELIFECYCLE/,
  /^info Visit https?:/,
  /^make: \*\*\*/,
];
const TELLING = /error|fail|cannot|could not|not found|exception|fatal|denied|missing|invalid|unexpected|refused/i;
const LONGEST_CAUSE = 500;

/** The output of one command on its way into the build log: bounded, its end remembered for the error. */
export class CommandOutput {
  readonly #context: BuildContext;
  #lines = 0;
  readonly #last: string[] = [];

  constructor(context: BuildContext) {
    this.#context = context;
  }

  async write(line: string): Promise<void> {
    this.#lines += 1;
    this.#last.push(line);
    if (this.#last.length > LAST_LINES) this.#last.shift();
    if (this.#lines <= MOST_LINES) await this.#context.log(line);
  }

  /** Writes the end of an output that was too long. */
  async close(): Promise<void> {
    const left = this.#lines - MOST_LINES;
    if (left <= 0) return;
    const shown = this.#last.slice(-left);
    await this.#context.log(`(${left - shown.length} more lines are left out; the last ones follow)`, 'warn');
    for (const line of shown) await this.#context.log(line);
  }

  /** The line that says most about a failure; '' where there is none. */
  cause(): string {
    const masked = this.#last.map(plain).map((line) => this.#context.masker?.mask(line) ?? line);
    const lines = masked.filter((line) => line !== '' && !BOILERPLATE.some((noise) => noise.test(line)));
    return (lines.findLast((line) => TELLING.test(line)) ?? lines.at(-1) ?? '').trim().slice(0, LONGEST_CAUSE);
  }
}

/** Without colours and other control sequences. */
function plain(line: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
  return line.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '').trimEnd();
}
