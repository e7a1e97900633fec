import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { startTimeOf } from '../sandbox/proc.js';

interface Holder {
  pid: number;
  startedAt: string | null;
  /** Tells two users within one process apart. */
  id: string;
}

const POLL_MS = 50;

/**
 * Runs `work` while nobody else on this host, in this process or another, holds the lock file. The lock of a process
 * that was killed is recognised and taken away. Waiting ends with the signal's reason.
 */
export async function withFileLock<T>(path: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const id = randomUUID();
  const own = `${path}.${id}`;
  const holder: Holder = { pid: process.pid, startedAt: await startTimeOf(process.pid), id };
  await writeFile(own, JSON.stringify(holder), { mode: 0o600 });
  try {
    while (!(await linked(own, path))) {
      const text = await readIfThere(path);
      if (text !== null && !(await lives(text))) await removeStale(path, text, `${own}.stale`);
      else if (text !== null) await delay(POLL_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
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

/** Puts the whole file at `path` unless there is one: linking is atomic, unlike creating and then writing. */
async function linked(own: string, path: string): Promise<boolean> {
  try {
    await link(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** A lock that cannot be read (a disk that was full, say) is nobody's. */
async function lives(text: string): Promise<boolean> {
  try {
    const { pid, startedAt } = JSON.parse(text) as Holder;
    return (await startTimeOf(pid)) === startedAt;
  } catch {
    return false;
  }
}

/** Takes the stale lock away, and puts it back where another process has just replaced it by its own. */
async function removeStale(path: string, stale: string, aside: string): Promise<void> {
  await rename(path, aside).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  const moved = await readIfThere(aside);
  if (moved !== null && moved !== stale) await linked(aside, path);
  await rm(aside, { force: true });
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
