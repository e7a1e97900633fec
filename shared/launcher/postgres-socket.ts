import { chown, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { readIfThere } from '../core/exists.js';
import { addressFiles } from './postgres-address.js';
import type { SystemUser } from './system-user.js';

/** PostgreSQL names its socket after a port, even if no port is open. */
export const PORT = 5432;
const SOCKET = `.s.PGSQL.${PORT}`;
const MAX_SOCKET_PATH_BYTES = process.platform === 'darwin' ? 103 : 107;
const SHORT_PREFIX = 'ranvier-db-';

/** The folder of the server's socket. Only the server's user and root can enter it. */
export interface SocketFolder {
  /** The folder's path for clients. */
  path: string;
  /** The folder's path as the server sees it. */
  seen: string;
  /** Removes what the socket needs outside of DATA_DIR: a folder with a short path. */
  remove(): Promise<void>;
}

/**
 * Makes `<dataDir>/postgres/socket` (0700) and empties it. `seen` is the parent folder as the server sees it.
 * If its path is too long for a socket, uses a private folder of the host with a symbolic link to it.
 */
export async function prepareSocketFolder(
  dataDir: string,
  seen: string,
  user: SystemUser | undefined,
): Promise<SocketFolder> {
  const folder = join(dataDir, 'postgres/socket');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  if (user) await chown(folder, user.uid, user.gid);
  await removeShort(await readIfThere(addressFiles(dataDir).socket));
  const path = fits(folder) ? folder : await shortPath(folder, user);
  return {
    path,
    seen: seen === join(dataDir, 'postgres') ? path : `${seen}/socket`,
    remove: () => removeShort(path),
  };
}

/**
 * Removes the socket and the lock of a server that has ended. The pid in the lock may belong to another process by now.
 */
export async function clearSocketFolder({ path }: SocketFolder): Promise<void> {
  for (const name of [SOCKET, `${SOCKET}.lock`]) await rm(join(path, name), { force: true });
}

function fits(folder: string): boolean {
  return Buffer.byteLength(join(folder, SOCKET)) <= MAX_SOCKET_PATH_BYTES;
}

async function shortPath(folder: string, user: SystemUser | undefined): Promise<string> {
  // Prefers /run, where no cleaner removes files because of their age.
  const made = await mkdtemp(join('/run', SHORT_PREFIX)).catch(() => mkdtemp(join(tmpdir(), SHORT_PREFIX)));
  if (user) await chown(made, user.uid, user.gid);
  const path = join(made, 's');
  await symlink(folder, path);
  if (!fits(path))
    throw new Error(`${path} is too long for a socket of PostgreSQL: set DATA_DIR or TMPDIR to a shorter path`);
  return path;
}

/** Removes the private folder of a short path. Leaves any other path alone. */
async function removeShort(path: string | null): Promise<void> {
  if (path === null || !dirname(path).includes(`/${SHORT_PREFIX}`)) return;
  await rm(dirname(path), { recursive: true, force: true });
}
