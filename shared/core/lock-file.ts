import { createHash } from 'node:crypto';
import { link, rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { readIfThere } from './exists.js';
import { isRunning, type ProcessIdentity } from './process-identity.js';

export type LockAttempt<H> = { taken: true } | { taken: false; holder: H };

const RETRY_MS = 5;

/**
 * Takes a lock by linking the file `own` to `path`. Returns the holder if a running process has the lock.
 * `livingHolder` reads the holder from the lock's text. It returns null if the holder has exited, or if the text is
 * unreadable, for example because the disk was full. The text of `own` must differ from that of every other holder.
 */
export async function tryLockFile<H>(
  path: string,
  own: string,
  livingHolder: (text: string) => Promise<H | null>,
): Promise<LockAttempt<H>> {
  while (!(await linked(own, path))) {
    const text = await readIfThere(path);
    if (text === null) continue;
    const holder = await livingHolder(text);
    if (holder !== null) return { taken: false, holder };
    await removeStale(path, text, own, livingHolder);
  }
  return { taken: true };
}

/** Returns the process named in a lock's text; null if it has exited or the text is malformed. */
export async function runningHolder(text: string): Promise<ProcessIdentity | null> {
  try {
    const holder = JSON.parse(text) as ProcessIdentity;
    return (await isRunning(holder)) ? holder : null;
  } catch {
    return null;
  }
}

/**
 * Links a complete file to `path`. Returns false if a file already exists there. Unlike writing a file, linking is
 * atomic: no reader sees a partial file, and only one caller succeeds.
 */
export async function linked(own: string, path: string): Promise<boolean> {
  try {
    await link(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Removes a stale lock under a lock of its own. Without that second lock, two callers could find the same stale lock,
 * and the slower one could delete a new lock that a third caller has just taken.
 */
async function removeStale<H>(
  path: string,
  stale: string,
  own: string,
  livingHolder: (text: string) => Promise<H | null>,
): Promise<void> {
  const right = `${path}.${createHash('sha256').update(stale).digest('hex').slice(0, 16)}`;
  if (!(await tryLockFile(right, own, livingHolder)).taken) {
    await delay(RETRY_MS);
    return;
  }
  try {
    if ((await readIfThere(path)) === stale) await rm(path, { force: true });
  } finally {
    await rm(right, { force: true });
  }
}
