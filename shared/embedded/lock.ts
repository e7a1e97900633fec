import { link, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfThere, writePrivately } from './files.js';
import { processStart } from './process-identity.js';

interface Holder {
  pid: number;
  started: string;
}

/**
 * Makes this process the only one on a DATA_DIR. Returns how to give the lock back; a killed process need not, since its
 * lock is recognised as stale. Throws an error that names the holder.
 */
export async function takeLock(dataDir: string): Promise<() => Promise<void>> {
  const path = join(dataDir, 'launch.lock');
  const own = join(dataDir, `launch.lock.${process.pid}`);
  const started = await processStart(process.pid);
  if (started === null) throw new Error('this process cannot be found in the list of processes');
  await writePrivately(own, JSON.stringify({ pid: process.pid, started } satisfies Holder));
  try {
    while (!(await linked(own, path))) {
      const text = await readIfThere(path);
      if (text === null) continue;
      const holder = await livingHolder(text);
      if (holder) {
        throw new Error(
          `"npm start" runs already on ${dataDir} (pid ${holder.pid}): stop it first, or set DATA_DIR, PORT and EDGE_PORT for a second platform`,
        );
      }
      await removeStale(path, text);
    }
  } finally {
    await rm(own, { force: true });
  }
  return () => rm(path, { force: true });
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

async function livingHolder(text: string): Promise<Holder | null> {
  const holder = parseHolder(text);
  if (!holder) return null;
  return (await processStart(holder.pid)) === holder.started ? holder : null;
}

/** A lock that cannot be read (a disk that was full, say) is nobody's. */
function parseHolder(text: string): Holder | null {
  try {
    return JSON.parse(text) as Holder;
  } catch {
    return null;
  }
}

/** Takes the stale lock away, and puts it back where another process has just replaced it by its own. */
async function removeStale(path: string, stale: string): Promise<void> {
  const aside = `${path}.stale.${process.pid}`;
  await rename(path, aside).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  const moved = await readIfThere(aside);
  if (moved !== null && moved !== stale) await linked(aside, path);
  await rm(aside, { force: true });
}
