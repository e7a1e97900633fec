import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Renames a file or folder. Syncs the folder of its new name, so that a power failure cannot undo the renaming. */
export async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to);
  const folder = await open(dirname(to), 'r');
  await folder.sync().finally(() => folder.close());
}
