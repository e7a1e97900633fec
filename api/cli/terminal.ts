import type { Readable } from 'node:stream';
import type { ReadStream, WriteStream } from 'node:tty';
import { CliError, EXIT, missingAnswer } from './exit-codes.js';
import { escaped } from './terminal-text.js';

type Input = Readable & Partial<Pick<ReadStream, 'isTTY' | 'setRawMode'>>;
type Output = NodeJS.WritableStream & Partial<Pick<WriteStream, 'isTTY' | 'columns' | 'rows'>>;

export interface Streams {
  stdin: Input;
  stdout: Output;
  stderr: Output;
}

const STYLES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
export type Style = keyof typeof STYLES;

const MAX_INPUT_BYTES = 1024 * 1024;

/** Writes data to stdout and everything else to stderr. Escapes control sequences other than colours. */
export class Terminal {
  readonly #streams: Streams;
  readonly #quiet: boolean;
  readonly #colours: boolean;
  #live = '';

  constructor(streams: Streams, options: { quiet: boolean; colours: boolean }) {
    this.#streams = streams;
    this.#quiet = options.quiet;
    this.#colours = options.colours;
  }

  get asks(): boolean {
    return this.#streams.stdin.isTTY === true && this.#streams.stderr.isTTY === true;
  }

  get showsData(): boolean {
    return this.#streams.stdout.isTTY === true;
  }

  get colours(): boolean {
    return this.#colours && this.showsData;
  }

  get showsProgress(): boolean {
    return this.#streams.stderr.isTTY === true && !this.#quiet;
  }

  /** Prints a line of the command's result on stdout. */
  data(line: string): void {
    this.progress('');
    this.#streams.stdout.write(`${shown(line)}\n`);
  }

  json(value: unknown): void {
    this.data(JSON.stringify(value, null, this.showsData ? 2 : undefined));
  }

  /** Prints progress or a hint on stderr, unless --quiet is given. */
  say(line: string): void {
    if (!this.#quiet) this.complain(line);
  }

  /** Prints a warning on stderr, even with --quiet. */
  complain(line: string): void {
    this.progress('');
    this.#streams.stderr.write(`${shown(line)}\n`);
  }

  /** Prints progress that the next output overwrites. Prints nothing without a terminal. */
  progress(line: string): void {
    if (!this.showsProgress || line === this.#live) return;
    const plain = escaped(line);
    const width = (this.#streams.stderr.columns || 80) - 1;
    const cut = plain.length > width ? `${plain.slice(0, Math.max(0, width - 1))}…` : plain;
    this.#streams.stderr.write(`\r\u001b[2K${cut}`);
    this.#live = line;
  }

  paint(style: Style, text: string): string {
    return this.#colours && this.#streams.stderr.isTTY ? `\u001b[${STYLES[style]}m${text}\u001b[0m` : text;
  }

  paintData(style: Style, text: string): string {
    return this.colours ? `\u001b[${STYLES[style]}m${text}\u001b[0m` : text;
  }

  /** Reads stdin, without its last line break. Throws CliError if it is larger than MAX_INPUT_BYTES. */
  async input(): Promise<string> {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of this.#streams.stdin) {
      const bytes = Buffer.from(chunk);
      size += bytes.length;
      if (size > MAX_INPUT_BYTES) throw new CliError(EXIT.usage, `stdin has more than ${MAX_INPUT_BYTES} bytes`);
      chunks.push(bytes);
    }
    return Buffer.concat(chunks)
      .toString('utf8')
      .replace(/\r?\n$/, '');
  }

  get hasInput(): boolean {
    return this.#streams.stdin.isTTY !== true;
  }

  /** Asks for a text. Without a terminal, throws an error that names `flag`. */
  text(message: string, flag: string, initial = ''): Promise<string> {
    const validate = (value?: string) => (value ? undefined : 'An answer is needed');
    const start = initial === '' ? {} : { initialValue: initial };
    return this.#ask(message, flag, (prompts, shared) => prompts.text({ ...shared, ...start, validate }));
  }

  secret(message: string, flag: string): Promise<string> {
    return this.#ask(message, flag, (prompts, shared) => prompts.password(shared));
  }

  /** Asks a yes-or-no question. The Enter key alone means `initial`. */
  confirm(message: string, initial: boolean): Promise<boolean> {
    return this.#ask(message, '--yes', (prompts, shared) => prompts.confirm({ ...shared, initialValue: initial }));
  }

  choose(message: string, flag: string, options: { value: string; label: string }[]): Promise<string> {
    const safe = options.map(({ value, label }) => ({ value, label: escaped(label) }));
    return this.#ask(message, flag, (prompts, shared) => prompts.select<string>({ ...shared, options: safe }));
  }

  /**
   * Throws with exit code 130 if the user cancels. The library is loaded on first use, because most commands never ask.
   */
  async #ask<T>(
    message: string,
    flag: string,
    ask: (
      prompts: typeof import('@clack/prompts'),
      shared: { message: string; input: Readable; output: WriteStream },
    ) => Promise<T>,
  ): Promise<Exclude<T, symbol>> {
    if (!this.asks) throw missingAnswer(message, flag);
    this.progress('');
    const { stdin: input, stderr } = this.#streams;
    const prompts = await import('@clack/prompts');
    const answer = await ask(prompts, { message: escaped(message), input, output: stderr as WriteStream });
    if (prompts.isCancel(answer)) throw new CliError(EXIT.interrupted, 'Nothing was done.');
    return answer as Exclude<T, symbol>;
  }
}

function shown(line: string): string {
  return escaped(line, { colours: true });
}
