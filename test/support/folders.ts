import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Returns a function that makes an empty folder, which is removed after the suite. */
export function useFolders(): () => Promise<string> {
  const made: string[] = [];
  after(async () => {
    for (const folder of made) await rm(folder, { recursive: true, force: true });
  });
  return async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'ranvier-test-')));
    made.push(folder);
    return folder;
  };
}

/**
 * Runs `work` while a file system is mounted on a new folder, so that the folder cannot be removed. Returns false
 * without running `work` if this user may not mount anything.
 */
export async function whileMounted(folder: string, work: () => Promise<unknown>): Promise<boolean> {
  await mkdir(folder, { recursive: true });
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]).status !== 0) return false;
  try {
    await work();
    return true;
  } finally {
    spawnSync('umount', [folder]);
  }
}
