import { connect, type Socket } from 'node:net';
import { onAbort } from '../../shared/core/on-abort.js';
import type { DataServer } from '../data/server-access.js';
import { BackupError } from '../failures/explained-errors.js';

const CONNECT_MS = 10_000;
const MAX_LINE_LENGTH = 1024;

export type RedisAddress = Omit<DataServer['admin'], 'database'>;

/**
 * A connection over which a redis server sends its snapshot, as it does to a replica. With `repl-diskless-sync no` the
 * server first writes the snapshot to its volume, so its size is known before the first byte is sent.
 */
export class RedisReplica {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #socket: Socket;
  #rest: Buffer = Buffer.alloc(0);

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.#chunks = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  /** Connects as the platform's own user. Rejects if the server refuses the connection. */
  static async connect({ host, port, user, password }: RedisAddress, signal: AbortSignal): Promise<RedisReplica> {
    const socket = connect({ host, port });
    const forgetAbort = onAbort(signal, () => socket.destroy(new Error('the copy was given up')));
    socket.once('close', forgetAbort);
    await new Promise<void>((resolve, reject) => {
      socket.setTimeout(CONNECT_MS, () => socket.destroy(new Error('the server does not answer')));
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    const replica = new RedisReplica(socket);
    socket.write(command('AUTH', user, password));
    const answer = await replica.#line();
    if (!answer.startsWith('+OK')) {
      replica.close();
      throw new Error(`the server refuses the platform's user: ${answer}`);
    }
    // No timeout while the server writes the snapshot. If the server dies, the socket closes.
    socket.setTimeout(0);
    return replica;
  }

  /** Requests a snapshot of the data at the moment when the server forks. */
  sync(): void {
    this.#socket.write(command('SYNC'));
  }

  /** Resolves to the size of the snapshot, in bytes, once the server has written it. */
  async size(): Promise<number> {
    for (;;) {
      const line = await this.#line();
      // The server sends empty lines to keep the connection alive while it writes the snapshot.
      if (line === '') continue;
      const size = /^\$(\d+)$/.exec(line)?.[1];
      if (size === undefined) throw new BackupError(`the server sends no snapshot: ${line.slice(0, 200)}`);
      return Number(size);
    }
  }

  /** Resolves to the next piece of the snapshot. Must not be called after its end. */
  async piece(): Promise<Buffer> {
    if (this.#rest.length === 0) await this.#more();
    const piece = this.#rest;
    this.#rest = Buffer.alloc(0);
    return piece;
  }

  close(): void {
    this.#socket.destroy();
  }

  async #line(): Promise<string> {
    for (;;) {
      const end = this.#rest.indexOf('\n');
      if (end >= 0) {
        const line = this.#rest.subarray(0, end).toString('utf8').trim();
        this.#rest = this.#rest.subarray(end + 1);
        return line;
      }
      if (this.#rest.length > MAX_LINE_LENGTH) throw new Error('the server answers in no known way');
      await this.#more();
    }
  }

  async #more(): Promise<void> {
    const { done, value } = await this.#chunks.next();
    if (done === true) throw new Error('the server closed the connection');
    this.#rest = Buffer.concat([this.#rest, value]);
  }
}

function command(...words: string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}
