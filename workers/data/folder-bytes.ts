import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

const BLOCK_BYTES = 512;

/** Returns the bytes that a folder takes on the disk, without its entries named in `except`. */
export async function folderBytes(folder: string, except: readonly string[] = []): Promise<number> {
  let total = 0;
  const left = [folder];
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    // Files come and go while the server runs.
    for (const entry of await readdir(path, { withFileTypes: true }).catch(() => [])) {
      if (path === folder && except.includes(entry.name)) continue;
      const inner = join(path, entry.name);
      if (entry.isDirectory()) left.push(inner);
      else total += ((await lstat(inner).catch(() => null))?.blocks ?? 0) * BLOCK_BYTES;
    }
  }
  return total;
}
