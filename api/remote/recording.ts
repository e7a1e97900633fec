import { StringDecoder } from 'node:string_decoder';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { MAX_RECORDING_BYTES, type Size } from '../../shared/remote/model.js';

const compress = promisify(gzip);

/** Number of characters after which recorded output is stored as the next part. */
const PART_LENGTH = 256 * 1024;

interface Options {
  /** The size of the terminal; null if the shell has none. */
  size: Size | null;
  command: string | readonly string[] | null;
  /** When the shell began, in milliseconds since 1970. */
  beganAt: number;
  /** Stores a part of the recording. Parts are numbered from 0. After a failure, the same part is stored again. */
  store: (part: number, content: Buffer) => Promise<void>;
}

/**
 * Records the output of a shell as asciicast v2. Input, such as a password, is recorded only if the shell prints it.
 * Parts are gzip streams of whole lines, which can be concatenated.
 */
export class Recording {
  readonly #options: Options;
  readonly #decoders = [new StringDecoder('utf8'), new StringDecoder('utf8')] as const;
  #pending: string;
  #length = 0;
  #isFull = false;
  #parts = 0;
  #unstored: Buffer | null = null;
  #storing: Promise<void> | null = null;

  constructor(options: Options) {
    const { size, command, beganAt } = options;
    this.#options = options;
    const { columns: width, rows: height } = size ?? { columns: 80, rows: 24 };
    const line = command === null ? {} : { command: typeof command === 'string' ? command : command.join(' ') };
    this.#pending = `${JSON.stringify({ version: 2, width, height, timestamp: Math.floor(beganAt / 1000), ...line })}\n`;
  }

  /** Records shell output. Without a terminal, the first byte says whether it is standard output or standard error. */
  output(message: Buffer, now: number): void {
    if (this.#isFull) return;
    const isTerminal = this.#options.size !== null;
    const decoder = this.#decoders[!isTerminal && message[0] === 2 ? 1 : 0];
    const text = decoder.write(isTerminal ? message : message.subarray(1));
    if (text !== '') this.#add('o', isTerminal ? text : text.replaceAll('\n', '\r\n'), now);
  }

  resize({ columns, rows }: Size, now: number): void {
    this.#add('r', `${columns}x${rows}`, now);
  }

  /**
   * Stores the pending output. If that fails, the next call stores it. While output is being stored, returns the same
   * promise.
   */
  flush(): Promise<void> {
    this.#storing ??= this.#flush().finally(() => {
      this.#storing = null;
    });
    return this.#storing;
  }

  /** True if enough output is pending to store a part. */
  get isDue(): boolean {
    return this.#pending.length >= PART_LENGTH;
  }

  async #flush(): Promise<void> {
    while (this.#unstored !== null || this.#pending !== '') {
      if (this.#unstored === null) {
        const text = this.#pending;
        this.#pending = '';
        this.#unstored = await compress(text);
      }
      await this.#options.store(this.#parts, this.#unstored);
      this.#parts += 1;
      this.#unstored = null;
    }
  }

  #add(event: 'o' | 'r', data: string, now: number): void {
    if (this.#isFull) return;
    const seconds = Math.max(0, now - this.#options.beganAt) / 1000;
    const line = `${JSON.stringify([seconds, event, data])}\n`;
    this.#length += Buffer.byteLength(line);
    this.#isFull = this.#length > MAX_RECORDING_BYTES;
    this.#pending += this.#isFull ? `${JSON.stringify([seconds, 'o', FULL])}\n` : line;
  }
}

const FULL = '\r\n[The recording is full and ends here]\r\n';
