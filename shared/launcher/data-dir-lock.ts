import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { runningHolder, tryLockFile } from '../core/lock-file.js';
import { identityOf } from '../core/process-identity.js';
import { writePrivately } from './private-file.js';

/**
 * Locks a DATA_DIR for this process, and returns the function that releases the lock. Takes over the lock of a killed
 * process. Throws an error that names the holder if another process uses the DATA_DIR.
 */
export async function takeLock(dataDir: string): Promise<() => Promise<void>> {
  const path = join(dataDir, 'launch.lock');
  const own = join(dataDir, `launch.lock.${process.pid}`);
  await writePrivately(own, JSON.stringify(await identityOf(process.pid)));
  try {
    const attempt = await tryLockFile(path, own, runningHolder);
    if (!attempt.taken) {
      throw new Error(
        `"npm start" runs already on ${dataDir} (pid ${attempt.holder.pid}): stop it first, or set DATA_DIR, PORT and EDGE_PORT for a second platform`,
      );
    }
  } finally {
    await rm(own, { force: true });
  }
  return () => rm(path, { force: true });
}
