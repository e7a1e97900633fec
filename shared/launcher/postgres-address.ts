import { join } from 'node:path';
import { readIfThere } from '../core/exists.js';

export const SUPERUSER = 'ranvier';
export const DATABASE = 'ranvier';

/** The files that keep the server's password (0600) and the folder of its socket beside its data. */
export function addressFiles(dataDir: string): { password: string; socket: string } {
  const folder = join(dataDir, 'postgres');
  return { password: join(folder, 'password'), socket: join(folder, 'socket-folder') };
}

/** `localhost` only makes it a URL that every parser takes: the parameter `host` decides, and it is a folder. */
export function serverUrl(password: string, socketFolder: string, database: string = DATABASE): string {
  return `postgres://${SUPERUSER}:${password}@localhost/${database}?host=${encodeURIComponent(socketFolder)}`;
}

/** The address at which the embedded PostgreSQL of this DATA_DIR answers while it runs; null if this DATA_DIR never had one. */
export async function embeddedUrl(dataDir: string): Promise<string | null> {
  const files = addressFiles(dataDir);
  const [password, folder] = [await readIfThere(files.password), await readIfThere(files.socket)];
  return password === null || folder === null ? null : serverUrl(password, folder);
}
