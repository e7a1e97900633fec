import { open } from 'node:fs/promises';
import { connect } from 'node:net';

const ANSWER_MS = 5_000;

/** A port of the host that slirp4netns forwards. */
export interface Forward {
  id: number;
  address: string;
  port: number;
  guestPort: number;
}

type Entries = { id: number; host_addr: string; host_port: number; guest_port: number }[];

/** A client for slirp4netns' API, whose socket is in `folder`. */
export class SlirpApi {
  readonly #folder: string;
  readonly #socket: string;

  constructor(folder: string, socket: string) {
    this.#folder = folder;
    this.#socket = socket;
  }

  async list(): Promise<Forward[]> {
    const { entries } = await this.#ask<{ entries: Entries }>('list_hostfwd', {});
    return entries.map(({ id, host_addr, host_port, guest_port }) => {
      return { id, address: host_addr, port: host_port, guestPort: guest_port };
    });
  }

  /** Forwards a port. Rejects if another program listens on it. */
  async add({ address, port, guestPort }: Omit<Forward, 'id'>, guestAddress: string): Promise<void> {
    const host = { host_addr: address, host_port: port };
    await this.#ask('add_hostfwd', { proto: 'tcp', ...host, guest_addr: guestAddress, guest_port: guestPort });
  }

  async remove(id: number): Promise<void> {
    await this.#ask('remove_hostfwd', { id });
  }

  async #ask<T>(execute: string, args: object): Promise<T> {
    // A socket's path has at most 107 characters, and DATA_DIR may be longer. So the folder is opened, and the path
    // begins with its descriptor in /proc.
    const folder = await open(this.#folder);
    try {
      const text = await exchange(
        `/proc/self/fd/${folder.fd}/${this.#socket}`,
        JSON.stringify({ execute, arguments: args }),
      );
      const answer = JSON.parse(text) as { return?: T; error?: { desc?: string } };
      if (answer.error !== undefined) throw new Error(`slirp4netns: ${answer.error.desc}`);
      // slirp4netns 1.2 returns the result of `list_hostfwd` at the top level, not in `return`.
      return answer.return ?? (answer as T);
    } finally {
      await folder.close();
    }
  }
}

function exchange(path: string, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path, allowHalfOpen: true });
    let answer = '';
    socket.setEncoding('utf8').setTimeout(ANSWER_MS, () => socket.destroy(new Error('slirp4netns does not answer')));
    socket.on('data', (chunk: string) => {
      answer += chunk;
    });
    socket.once('end', () => {
      socket.destroy();
      resolve(answer);
    });
    socket.once('error', reject);
    socket.end(request);
  });
}
