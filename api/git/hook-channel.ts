import type { ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { MAX_UPDATES, type RefUpdate } from '../../shared/pushes/model.js';
import { FLUSH, type Packet, PacketReader, packet } from './pkt-lines.js';

export interface HookRequest {
  updates: RefUpdate[];
  options: string[];
  /**
   * Path of git's file `shallow`, which lists the commits at which the pushed history ends; '' if the push is not
   * shallow.
   */
  shallowFile: string;
}

/** The hook's result for one ref. If `byGit` is true, git itself updates the ref. */
export type HookAnswer = { ref: string; ok: true; byGit?: boolean } | { ref: string; ok: false; reason: string };

const MAX_LINE_LENGTH = 2000;

/** Holds the API's end of the pipes to the hook `proc-receive`. */
export class HookChannel {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #answers: Writable;
  readonly #messages: Writable;
  readonly #reader = new PacketReader();
  readonly #waiting: Packet[] = [];

  constructor(child: ChildProcess) {
    // Node's type of `stdio` has only five entries, and the hook uses a sixth.
    const [input, answers, messages] = (child.stdio as readonly unknown[]).slice(3);
    this.#chunks = (input as Readable)[Symbol.asyncIterator]();
    this.#answers = answers as Writable;
    this.#messages = messages as Writable;
    // The pipes close if the hook is killed. That is not an error, because the deployment continues.
    for (const stream of [input as Readable, this.#answers, this.#messages]) stream.on('error', () => undefined);
  }

  /** Reads what git sent to the hook. Resolves to null if git refused the push without running a hook. */
  async read(): Promise<HookRequest | null> {
    const shallowFile = await this.#next();
    if (shallowFile === undefined || shallowFile === null) return null;
    await this.#section();
    this.#answers.write(packet('version=1\0push-options'));
    this.#answers.write(FLUSH);
    const updates = (await this.#section()).map(parseUpdate);
    const options = this.#pushOptions ? await this.#section() : [];
    return { updates, options, shallowFile };
  }

  say(line: string): void {
    if (this.#messages.writable) this.#messages.write(`${printable(line)}\n`);
  }

  /** Sends the results for all refs, after which the hook exits. */
  answer(answers: readonly HookAnswer[]): void {
    for (const answer of answers) {
      this.#answers.write(packet(answer.ok ? `ok ${answer.ref}` : `ng ${answer.ref} ${printable(answer.reason)}`));
      if (answer.ok && answer.byGit) this.#answers.write(packet('option fall-through'));
    }
    this.#answers.write(FLUSH);
    this.close();
  }

  close(): void {
    this.#messages.end();
    this.#answers.end();
  }

  #pushOptions = false;

  async #section(): Promise<string[]> {
    const lines: string[] = [];
    for (;;) {
      const next = await this.#next();
      if (next === undefined) throw new Error('git ended the conversation with its hook');
      if (next === null) return lines;
      if (next.startsWith('version='))
        this.#pushOptions = next.split('\0')[1]?.split(' ').includes('push-options') ?? false;
      if (lines.push(next) > MAX_UPDATES) throw new Error(`a push has more than ${MAX_UPDATES} refs or options`);
    }
  }

  /** Returns undefined at the end of the input. */
  async #next(): Promise<Packet | undefined> {
    while (this.#waiting.length === 0) {
      // A killed hook closes the pipe early, which the iterator reports as an error.
      const { value, done } = await this.#chunks.next().catch(() => ({ value: undefined, done: true as const }));
      if (done) return undefined;
      this.#waiting.push(...this.#reader.push(value));
    }
    return this.#waiting.shift();
  }
}

function parseUpdate(line: string): RefUpdate {
  const [from = '', to = '', ...ref] = line.split(' ');
  return { from, to, ref: ref.join(' ') };
}

/** Removes control characters from a line, except for colours. */
export function printable(line: string): string {
  return (
    line
      .slice(0, MAX_LINE_LENGTH)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to remove
      .replace(/\u001b\[[0-9;]{0,16}m|[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g, (found) =>
        found.length > 1 ? found : '',
      )
  );
}
