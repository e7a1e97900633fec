import { rename, rm, writeFile } from 'node:fs/promises';

/** Writes a file that only this user may read, atomically and flushed to disk. */
export async function writePrivately(path: string, text: string): Promise<void> {
  const fresh = `${path}.${process.pid}.new`;
  // An earlier process with the same pid may have left this file, and other users may be able to read it.
  await rm(fresh, { force: true });
  await writeFile(fresh, text, { flag: 'wx', mode: 0o600, flush: true });
  await rename(fresh, path);
}
