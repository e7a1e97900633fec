import { join } from 'node:path';
import { readIfThere } from './files.js';

export const SUPERUSER = 'ranvier';
export const DATABASE = 'ranvier';

/** The files that keep the server's password (0600) and port beside its data. */
export function addressFiles(dataDir: string): { password: string; port: string } {
  const folder = join(dataDir, 'postgres');
  return { password: join(folder, 'password'), port: join(folder, 'port') };
}

export function serverUrl(password: string, port: number, database: string = DATABASE): string {
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`;
}

/** The address at which the embedded PostgreSQL of this DATA_DIR answers while it runs; null where there never was one. */
export async function embeddedUrl(dataDir: string): Promise<string | null> {
  const files = addressFiles(dataDir);
  const [password, port] = [await readIfThere(files.password), await readIfThere(files.port)];
  return password === null || port === null ? null : serverUrl(password, Number(port));
}
