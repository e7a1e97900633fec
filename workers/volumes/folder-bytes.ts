import { TenantFolder } from './tenant-folder.js';

const BLOCK_BYTES = 512;
/** A folder beyond these limits counts as too large. Database servers stay below them. */
const MAX_ENTRIES = 2_000_000;
const MAX_DEPTH = 32;

/**
 * Returns the disk space of a folder, in bytes. A folder with too many files counts as infinitely large, so that it
 * cannot evade a limit.
 */
export async function folderBytes(path: string, except: readonly string[] = []): Promise<number> {
  let entries = 0;
  const measure = async (folder: TenantFolder, depth: number): Promise<number> => {
    let bytes = 0;
    for await (const { name } of folder.entries()) {
      if (depth === 0 && except.includes(name)) continue;
      entries += 1;
      if (entries > MAX_ENTRIES || depth > MAX_DEPTH) return Number.MAX_SAFE_INTEGER;
      const found = await folder.stat(name).catch(() => null);
      bytes += (found?.blocks ?? 0) * BLOCK_BYTES;
      const inner = found?.isDirectory() ? await folder.folder(name).catch(() => null) : null;
      if (inner !== null) bytes += await measure(inner, depth + 1).finally(() => inner.close());
    }
    return Math.min(bytes, Number.MAX_SAFE_INTEGER);
  };
  const root = await TenantFolder.open(path).catch(() => null);
  return root === null ? 0 : measure(root, 0).finally(() => root.close());
}
