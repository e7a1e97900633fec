import { createHash } from 'node:crypto';
import { link, rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { readIfThere } from './exists.js';
import { isRunning, type ProcessIdentity } from './process-identity.js';

export type LockAttempt<H> = { taken: true } | { taken: false; holder: H };

/** Pause before reading a stale lock again that another caller is removing, in milliseconds. */
const RETRY_MS = 5;

/**
 * Puts the file `own` at `path` as a lock. If the lock is taken, returns its living holder.
 * `livingHolder` parses a lock's text: it returns the holder, or null if the holder has died or the text is unreadable
 * (for example because the disk was full). The lock of a dead holder is removed and the attempt repeated. `own` is
 * linked, not moved. The texts of two holders must differ.
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

/** Returns the process that a lock names; null if it has ended, or if the text names none. */
export async function runningHolder(text: string): Promise<ProcessIdentity | null> {
  try {
    const holder = JSON.parse(text) as ProcessIdentity;
    return (await isRunning(holder)) ? holder : null;
  } catch {
    return null;
  }
}

/**
 * Links the complete file to `path`. Returns false if a file is there.
 * Linking is atomic, unlike creating and writing: no reader sees half of the file, and only one caller succeeds.
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
 * Removes a stale lock, unless another caller does.
 * The right to remove it is a lock too, named after the stale text: two callers that both removed it could remove a
 * third caller's new lock.
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
