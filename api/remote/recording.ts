import { StringDecoder } from 'node:string_decoder';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { MAX_RECORDING_BYTES, type Size } from '../../shared/remote/model.js';

const compress = promisify(gzip);

/** What is pending is stored once it has this size, in characters. */
const PART_LENGTH = 256 * 1024;

interface Options {
  /** The size of the terminal; null without one. */
  size: Size | null;
  command: string | readonly string[] | null;
  /** In milliseconds. */
  beganAt: number;
  /** Stores a part. Parts are numbered from 0; one may be stored again. */
  store: (part: number, content: Buffer) => Promise<void>;
}

/**
 * Records what a shell prints as asciicast v2, up to a size. What is typed is recorded only if the shell prints it, so
 * passwords are not. Parts are gzip streams of whole lines, which can be joined.
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

  /** Records a message of the shell. Without a terminal its first byte names the stream. */
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

  /** Stores what is pending. If that fails, a later call stores it. Concurrent calls share one attempt. */
  flush(): Promise<void> {
    this.#storing ??= this.#flush().finally(() => {
      this.#storing = null;
    });
    return this.#storing;
  }

  /** True if a part is ready to be stored. */
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
