import { open, rename } from 'node:fs/promises';

/** Writes a file that only this user may read (0600), atomically. It is flushed to disk before this resolves. */
export async function writePrivately(path: string, text: string): Promise<void> {
  const fresh = `${path}.${process.pid}.new`;
  const file = await open(fresh, 'w', 0o600);
  try {
    await file.chmod(0o600);
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(fresh, path);
}
