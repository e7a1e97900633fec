import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { tryLockFile } from '../../shared/core/lock-file.js';
import { processStart } from '../../shared/core/process-identity.js';

interface Holder {
  pid: number;
  startedAt: string | null;
  /** Makes the texts of two holders within one process differ. */
  id: string;
}

/** Interval between two attempts to take the lock, in milliseconds. */
const POLL_MS = 50;

/**
 * Runs `work` while this caller holds the lock file: no other caller on this host holds it then, in this process or another
 * one. The lock of a process that was killed is taken over. Rejects with the signal's reason if it is aborted while waiting.
 */
export async function withFileLock<T>(path: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const id = randomUUID();
  const own = `${path}.${id}`;
  const holder: Holder = { pid: process.pid, startedAt: await processStart(process.pid), id };
  await writeFile(own, JSON.stringify(holder), { mode: 0o600 });
  try {
    while (!(await tryLockFile(path, own, livingHolder)).taken) {
      await delay(POLL_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  } finally {
    await rm(own, { force: true });
  }
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

async function livingHolder(text: string): Promise<Holder | null> {
  try {
    const holder = JSON.parse(text) as Holder;
    return (await processStart(holder.pid)) === holder.startedAt ? holder : null;
  } catch {
    return null;
  }
}
