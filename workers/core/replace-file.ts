import { randomUUID } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';

/** Replaces a file atomically, because other processes may be reading it. */
export async function replaceFile(path: string, text: string, mode = 0o600): Promise<void> {
  const fresh = `${path}.${randomUUID()}`;
  await writeFile(fresh, text, { mode });
  await rename(fresh, path);
}
