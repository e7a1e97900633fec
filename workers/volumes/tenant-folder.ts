import { constants, type Dirent, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, opendir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { unlessAbsent } from '../../shared/core/exists.js';
import { ExplainedError } from '../failures/explained-errors.js';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
/** Linux flag to get a descriptor without opening the file, even a socket. Node.js has no constant for it. */
const O_PATH = 0o10000000;
const ON_LINUX = process.platform === 'linux';
/** The errors of `open` for a symlink, a path that is not a folder, and a socket. */
const REFUSED = ['ELOOP', 'ENOTDIR', 'ENXIO'];

/** Thrown if a tenant's folder contains something that the platform refuses to open. */
export class TenantFileError extends ExplainedError {}

/**
 * A folder that a tenant's processes may change at any moment. Names in it are opened relative to its descriptor, never
 * through a symlink, and only if the owner of the folder also owns the entry. Opening never blocks. The methods reject
 * with ENOENT for a missing name, and with a `TenantFileError` for an entry that they refuse.
 */
export class TenantFolder {
  readonly #handle: FileHandle;
  /** A path that stays valid if the tenant renames the open folder. Outside Linux, the folder's original path. */
  readonly #path: string;
  readonly #shown: string;
  readonly uid: number;

  private constructor(handle: FileHandle, path: string, shown: string, uid: number) {
    this.#handle = handle;
    this.#path = ON_LINUX ? `/proc/self/fd/${handle.fd}` : path;
    this.#shown = shown;
    this.uid = uid;
  }

  /** The parent folders of `path` must belong to the platform. */
  static open(path: string): Promise<TenantFolder> {
    return TenantFolder.#open(path, '');
  }

  static async #open(path: string, shown: string, owner?: number): Promise<TenantFolder> {
    const handle = await openUnfollowed(path, O_RDONLY | O_DIRECTORY, shown);
    try {
      const { uid } = await handle.stat();
      if (owner !== undefined && uid !== owner) throw unexpected(shown);
      return new TenantFolder(handle, path, shown, uid);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Opens a subfolder by its name, or by several names separated by `/`. */
  async folder(names: string): Promise<TenantFolder> {
    let found: TenantFolder | null = null;
    for (const name of names.split('/')) {
      const above: TenantFolder = found ?? this;
      try {
        found = await TenantFolder.#open(above.#pathOf(name), above.#nameOf(name), this.uid);
      } finally {
        if (above !== this) await above.close();
      }
    }
    return found ?? this;
  }

  async *entries(): AsyncGenerator<Dirent> {
    yield* await opendir(this.#path);
  }

  stat(name: string): Promise<Stats> {
    return lstat(this.#pathOf(name));
  }

  /** Opens a regular file without other hard links. */
  async file(name: string): Promise<FileHandle> {
    const handle = await openUnfollowed(this.#pathOf(name), O_RDONLY, this.#nameOf(name));
    return this.#checked(handle, name, (found) => found.isFile() && found.nlink === 1);
  }

  async text(name: string, maxBytes: number): Promise<string> {
    const file = await this.file(name);
    try {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(maxBytes + 1), 0, maxBytes + 1, 0);
      if (bytesRead > maxBytes) throw unexpected(this.#nameOf(name));
      return buffer.toString('utf8', 0, bytesRead);
    } finally {
      await file.close();
    }
  }

  /** Runs `work` with a path that leads to exactly this socket. */
  async withSocket<T>(name: string, work: (path: string) => Promise<T>): Promise<T> {
    if (!ON_LINUX) return work(this.#pathOf(name));
    const handle = await openUnfollowed(this.#pathOf(name), O_PATH, this.#nameOf(name));
    const socket = await this.#checked(handle, name, (found) => found.isSocket() && found.nlink === 1);
    return work(`/proc/self/fd/${socket.fd}`).finally(() => socket.close());
  }

  async remove(name: string): Promise<void> {
    await unlessAbsent(unlink(this.#pathOf(name)));
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  async #checked(handle: FileHandle, name: string, isExpected: (found: Stats) => boolean): Promise<FileHandle> {
    const found = await handle.stat();
    if (found.uid === this.uid && isExpected(found)) return handle;
    await handle.close();
    throw unexpected(this.#nameOf(name));
  }

  #nameOf(name: string): string {
    return join(this.#shown, name);
  }

  #pathOf(name: string): string {
    if (['', '.', '..'].includes(name) || /[/\0]/.test(name)) throw unexpected(JSON.stringify(name));
    return `${this.#path}/${name}`;
  }
}

async function openUnfollowed(path: string, flags: number, shown: string): Promise<FileHandle> {
  return open(path, flags | O_NOFOLLOW | O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    throw REFUSED.includes(error.code ?? '') ? unexpected(shown) : error;
  });
}

function unexpected(shown: string): TenantFileError {
  const what = shown === '' ? 'the data folder' : `${shown} in the data folder`;
  return new TenantFileError(
    `${what} is not what its server makes: it is a link, has another owner or a second name, or is of another type or size; remove it`,
  );
}
