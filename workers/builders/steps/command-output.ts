import { setTimeout as delay } from 'node:timers/promises';
import { LastLines } from '../../core/last-lines.js';
import { ADVICE_LINES, adviceFor, FIRST_LINES, plain } from '../../failures/failure-advice.js';
import type { FailureFacts } from '../../failures/known-failure.js';
import type { BuildContext } from '../builder.js';

/** After this number of lines, only the last lines of a command's output are logged. */
const MAX_LINES = 20_000;
const LAST_LINES = 20;
/** After this number of characters, only the last lines are logged. */
const MAX_CHARACTERS = 32 * 1024 * 1024;
/** Output beyond the limit is read in chunks of this size, with a pause after each, so that other work can run. */
const STEP = { lines: 1000, characters: 1024 * 1024 };
const PAUSE_MS = 20;

/** Lines that package managers print after every failure. They do not show its cause. */
const BOILERPLATE = [
  /^npm (err!|error)( A complete log| *$| code | errno| path | command | workspace | location | Lifecycle script| signal)/i,
  /^npm (err!|error)\s+\S+\.log$/i,
  /^npm (err!|error) (notarget (In most cases|a package version)|If you need help,)/i,
  /^(npm )?(notice|warn)\b/i,
  /^Node\.js v\d/,
  /^\s+at /,
  /^\s*[\^~]+\s*$/,
  /^[{}()[\];,\s]*$/,
  /ELIFECYCLE/,
  /^info Visit https?:/,
  /^make: \*\*\*/,
  // Yarn's summary lines, and the indented details below the line that names the failed package.
  /^➤ YN0000: . (Failed|Done)|^➤ YN0035: │ {2,}/,
  // Turborepo's line about the failed task, which follows the task's own output.
  /exited \(\d{1,3}\)$|^Failed:\s/,
];
const TELLING = /error|fail|cannot|could not|not found|exception|fatal|denied|missing|invalid|unexpected|refused/i;
const MAX_CAUSE_LENGTH = 500;

/** Passes a command's output to the build log, up to a limit. Keeps the last lines for the error message. */
export class CommandOutput {
  readonly #context: BuildContext;
  #lines = 0;
  #characters = 0;
  #written = 0;
  #step = { lines: 0, characters: 0 };
  /** The first lines, kept because some programs print the cause first, and then their usage. */
  readonly #first: string[] = [];
  readonly #last = new LastLines(ADVICE_LINES);

  constructor(context: BuildContext) {
    this.#context = context;
  }

  async write(line: string): Promise<void> {
    this.#lines += 1;
    if (this.#lines > FIRST_LINES) this.#last.push(line);
    else this.#first.push(line);
    this.#characters += line.length;
    if (this.#lines > MAX_LINES || this.#characters > MAX_CHARACTERS) return this.#holdBack(line);
    this.#written += 1;
    await this.#context.log(line);
  }

  /** Logs the last lines of an output that exceeded the limit. */
  async close(): Promise<void> {
    const left = this.#lines - this.#written;
    if (left <= 0) return;
    const shown = this.#lastLines().slice(-left);
    await this.#context.log(`(${left - shown.length} more lines are left out; the last ones follow)`, 'warn');
    for (const line of shown) await this.#context.log(line);
  }

  async #holdBack(line: string): Promise<void> {
    this.#step.lines += 1;
    this.#step.characters += line.length;
    if (this.#step.lines < STEP.lines && this.#step.characters < STEP.characters) return;
    this.#step = { lines: 0, characters: 0 };
    await delay(PAUSE_MS);
  }

  /** Returns the most significant line about a failure; '' if there is none. */
  cause(): string {
    const shown = this.#masked(this.#lastLines());
    const lines = shown.filter(
      (line, i) => line !== '' && !isEcho(line, shown[i - 1]) && !BOILERPLATE.some((noise) => noise.test(line)),
    );
    return (lines.findLast((line) => TELLING.test(line)) ?? lines.at(-1) ?? '').trim().slice(0, MAX_CAUSE_LENGTH);
  }

  advice(facts: FailureFacts): string | null {
    return adviceFor(this.telling(), facts);
  }

  /** Returns the beginning and the end of the output, without secrets. */
  telling(): string[] {
    return this.#masked([...this.#first, ...this.#last.lines]);
  }

  #lastLines(): readonly string[] {
    return [...this.#first, ...this.#last.lines].slice(-LAST_LINES);
  }

  #masked(lines: readonly string[]): string[] {
    return lines.map(plain).map((line) => this.#context.masker?.mask(line) ?? line);
  }
}

/** Returns true for the command that npm prints below a script's name: its words may look like a cause. */
function isEcho(line: string, before = ''): boolean {
  return line.startsWith('> ') && before.startsWith('> ');
}
