import { join } from 'node:path';
import { readIfThere } from '../core/exists.js';

export const SUPERUSER = 'ranvier';
export const DATABASE = 'ranvier';

/**
 * Returns the paths of two files. `password` contains the server's password, `socket` the path of its socket folder.
 */
export function addressFiles(dataDir: string): { password: string; socket: string } {
  const folder = join(dataDir, 'postgres');
  return { password: join(folder, 'password'), socket: join(folder, 'socket-folder') };
}

/**
 * Returns the server's connection URL. Clients use the parameter `host`, which is the socket folder. The host
 * `localhost` only satisfies URL parsers.
 */
export function serverUrl(password: string, socketFolder: string, database: string = DATABASE): string {
  return `postgres://${SUPERUSER}:${password}@localhost/${database}?host=${encodeURIComponent(socketFolder)}`;
}

/** Returns the connection URL of this DATA_DIR's embedded PostgreSQL; null if it was never started. */
export async function embeddedUrl(dataDir: string): Promise<string | null> {
  const files = addressFiles(dataDir);
  const [password, folder] = [await readIfThere(files.password), await readIfThere(files.socket)];
  return password === null || folder === null ? null : serverUrl(password, folder);
}
