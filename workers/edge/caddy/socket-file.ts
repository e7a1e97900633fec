import { chmod, mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { unlessAbsent } from '../../../shared/core/exists.js';

/** Caddy may run as a member of the folder's group. */
const SOCKET_MODE = 0o660;
const FOLDER_MODE = 0o700;
const WRITABLE_BY_OTHERS = 0o002;

/** A Unix socket that the next edge process replaces atomically, so that no connection is lost. */
export class SocketFile {
  readonly path: string;
  #inode: bigint | null = null;

  constructor(path: string) {
    this.path = path;
  }

  /** Listens at the path. Throws if other users may write to its folder, because they could replace the socket. */
  async publish(listen: (path: string) => Promise<void>): Promise<void> {
    const folder = dirname(this.path);
    await mkdir(dirname(folder), { recursive: true });
    await mkdir(folder, { mode: FOLDER_MODE }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    if (((await stat(folder)).mode & WRITABLE_BY_OTHERS) !== 0) {
      throw new Error(
        `everybody may write to ${folder}, and so answer Caddy in place of the edge: chmod o-w ${folder}, or set EDGE_SOCKET_DIR to another folder`,
      );
    }
    // When the server closes, Node.js removes the path that it bound. By then, `path` may belong to another process.
    const bound = `${this.path}.${process.pid}`;
    await rm(bound, { force: true });
    await listen(bound);
    await chmod(bound, SOCKET_MODE);
    this.#inode = await inodeAt(bound);
    await rename(bound, this.path);
  }

  /** Returns true if connections to the path still reach this process. */
  async isOurs(): Promise<boolean> {
    return this.#inode !== null && (await inodeAt(this.path)) === this.#inode;
  }

  async withdraw(): Promise<void> {
    if (await this.isOurs()) await rm(this.path, { force: true });
  }
}

async function inodeAt(path: string): Promise<bigint | null> {
  return (await unlessAbsent(stat(path, { bigint: true })))?.ino ?? null;
}
