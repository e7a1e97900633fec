import { mkdtemp, realpath, rm } from 'node:fs/promises';
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
