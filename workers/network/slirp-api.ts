import { open } from 'node:fs/promises';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

const ANSWER_MS = 5_000;

export const UPLINK_SOCKET = 'uplink.sock';

interface Forward {
  id: number;
  guestPort: number;
}

/** A client for the API of slirp4netns, whose socket is in `folder`. */
export class SlirpApi {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async list(): Promise<Forward[]> {
    const { entries } = await this.#ask<{ entries: { id: number; guest_port: number }[] }>('list_hostfwd', {});
    return entries.map(({ id, guest_port }) => ({ id, guestPort: guest_port }));
  }

  /**
   * Forwards a port of the host to `guestPort` of a guest's address. Rejects if another program uses the host's port.
   */
  async add(host: { address: string; port: number }, guestAddress: string, guestPort: number): Promise<void> {
    const from = { host_addr: host.address, host_port: host.port };
    await this.#ask('add_hostfwd', { proto: 'tcp', ...from, guest_addr: guestAddress, guest_port: guestPort });
  }

  async remove(id: number): Promise<void> {
    await this.#ask('remove_hostfwd', { id });
  }

  async #ask<T>(execute: string, args: object): Promise<T> {
    // A socket's path has at most 107 characters, and DATA_DIR may be longer.
    const folder = await open(this.#folder);
    try {
      const request = JSON.stringify({ execute, arguments: args });
      const answered = await exchange(`/proc/self/fd/${folder.fd}/${UPLINK_SOCKET}`, request);
      const answer = JSON.parse(answered) as { return?: T; error?: { desc?: string } };
      if (answer.error !== undefined) throw new Error(`slirp4netns: ${answer.error.desc}`);
      // slirp4netns 1.2 returns the result of `list_hostfwd` without `return`.
      return answer.return ?? (answer as T);
    } finally {
      await folder.close();
    }
  }
}

async function exchange(path: string, request: string): Promise<string> {
  const socket = connect({ path, allowHalfOpen: true });
  socket.setTimeout(ANSWER_MS, () => socket.destroy(new Error('slirp4netns does not answer')));
  socket.end(request);
  try {
    return await text(socket);
  } finally {
    socket.destroy();
  }
}
