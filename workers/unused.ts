import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

const UNUSED_MS = 30 * 24 * 60 * 60_000;

/** Removes what lies in a folder of copies and was not touched for 30 days; returns how many it removed. */
export async function removeUnused(folder: string): Promise<number> {
  let removed = 0;
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => null);
    if (found === null || Date.now() - found.mtimeMs < UNUSED_MS) continue;
    await rm(path, { recursive: true, force: true });
    removed += 1;
  }
  return removed;
}
