import { readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from './processes.js';

const ROOT = '/sys/fs/cgroup';

/** Removes the control groups with this name, and those below them, in each hierarchy. */
export async function removeCgroups(name: string): Promise<void> {
  for (const place of [ROOT, ...(await readdir(ROOT)).map((entry) => join(ROOT, entry))]) {
    await removeTree(join(place, name));
  }
}

async function removeTree(folder: string): Promise<void> {
  // On a read-only file system, rmdir fails with EROFS even for a folder that does not exist.
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => null);
  if (entries === null) return;
  for (const entry of entries) {
    if (entry.isDirectory()) await removeTree(join(folder, entry.name));
  }
  // Processes that were just killed may still be counted.
  await eventually(`${folder} is removed`, () =>
    rmdir(folder).then(
      () => true,
      (error: NodeJS.ErrnoException) => error.code === 'ENOENT',
    ),
  );
}
