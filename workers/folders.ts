import { execFile } from 'node:child_process';
import { access, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const UNUSED_MS = 30 * 24 * 60 * 60_000;

/** True where there is something at the path. */
export async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Removes a folder whatever is in it: a stranger can make paths that are longer than Node's own removal can name. */
export async function removeTree(path: string): Promise<void> {
  await run('rm', ['-rf', '--', path]);
}

/** Removes what lies in a folder of copies and was not touched for 30 days; returns how many it removed. */
export async function removeUnused(folder: string): Promise<number> {
  let removed = 0;
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => null);
    if (found === null || Date.now() - found.mtimeMs < UNUSED_MS) continue;
    await removeTree(path);
    removed += 1;
  }
  return removed;
}
