import { join } from 'node:path';
import { readIfThere } from '../core/exists.js';

/** Returns the path of the file in which `npm start` stores its key. */
export function secretsKeyFile(dataDir: string): string {
  return join(dataDir, 'secrets.key');
}

/** Returns the key that `npm start` generated for this DATA_DIR; null if there is none. */
export async function readSecretsKey(dataDir: string): Promise<string | null> {
  return (await readIfThere(secretsKeyFile(dataDir)))?.trim() ?? null;
}
