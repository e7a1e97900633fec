import { chown, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { readIfThere } from '../core/exists.js';
import { addressFiles } from './postgres-address.js';
import type { SystemUser } from './system-user.js';

/** Part of the socket's file name. No port is open. */
export const PORT = 5432;
const SOCKET = `.s.PGSQL.${PORT}`;
const MAX_SOCKET_PATH_BYTES = process.platform === 'darwin' ? 103 : 107;
const SHORT_PREFIX = 'ranvier-db-';

/** Only the server's user and root can enter the folder. */
export interface SocketFolder {
  path: string;
  /** The folder's path for the server, whose user may be unable to enter DATA_DIR. */
  seen: string;
  /** Deletes the temporary folder, which exists only if the socket's path in DATA_DIR is too long. */
  remove(): Promise<void>;
}

/**
 * Creates an empty `<dataDir>/postgres/socket`. `seen` is the path by which the server accesses `<dataDir>/postgres`.
 * If the folder's path is too long for a socket, also creates a private temporary folder with a symbolic link to it.
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
 * Deletes the socket and lock file of a stopped server. PostgreSQL would refuse to start if another process now had the
 * pid in the lock file.
 */
export async function clearSocketFolder({ path }: SocketFolder): Promise<void> {
  for (const name of [SOCKET, `${SOCKET}.lock`]) await rm(join(path, name), { force: true });
}

function fits(folder: string): boolean {
  return Buffer.byteLength(join(folder, SOCKET)) <= MAX_SOCKET_PATH_BYTES;
}

async function shortPath(folder: string, user: SystemUser | undefined): Promise<string> {
  // Prefers /run, where files are not deleted because of their age.
  const made = await mkdtemp(join('/run', SHORT_PREFIX)).catch(() => mkdtemp(join(tmpdir(), SHORT_PREFIX)));
  if (user) await chown(made, user.uid, user.gid);
  const path = join(made, 's');
  await symlink(folder, path);
  if (!fits(path))
    throw new Error(`${path} is too long for a socket of PostgreSQL: set DATA_DIR or TMPDIR to a shorter path`);
  return path;
}

async function removeShort(path: string | null): Promise<void> {
  if (path === null || !dirname(path).includes(`/${SHORT_PREFIX}`)) return;
  await rm(dirname(path), { recursive: true, force: true });
}
