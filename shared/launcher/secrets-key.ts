import { join } from 'node:path';
import { readIfThere } from '../core/exists.js';

/** Returns the file in which `npm start` keeps its key; only this user may read it. */
export function secretsKeyFile(dataDir: string): string {
  return join(dataDir, 'secrets.key');
}

/** Returns the key that `npm start` made for this DATA_DIR; null if there never was one. */
export async function readSecretsKey(dataDir: string): Promise<string | null> {
  return (await readIfThere(secretsKeyFile(dataDir)))?.trim() ?? null;
}
