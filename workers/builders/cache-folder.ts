import { mkdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { exists, removeTree } from '../folders.js';
import { ownDirectory } from '../sandbox/users.js';
import type { BuildContext, BuildRequest } from './builder.js';

export function cachesFolder(dataDir: string): string {
  return join(dataDir, 'caches');
}

/** The folder in which tools keep what the next build of the same service needs again; empty where that was asked for. */
export async function openCache(
  dataDir: string,
  { serviceId, clearCache, userNumber }: Pick<BuildRequest, 'serviceId' | 'clearCache' | 'userNumber'>,
  { log }: Pick<BuildContext, 'log'>,
): Promise<string> {
  const cache = join(cachesFolder(dataDir), serviceId);
  if (clearCache) {
    await removeTree(cache);
    await log('The build cache is empty, as was asked for');
  }
  if (!(await exists(cache))) {
    await mkdir(cache, { recursive: true, mode: 0o700 });
    await ownDirectory(cache, userNumber);
  }
  const now = new Date();
  await utimes(cache, now, now);
  return cache;
}
