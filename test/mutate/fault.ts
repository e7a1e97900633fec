import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A small change of the compiled code that a test should notice. */
export interface Fault {
  name: string;
  file: string;
  find: string;
  replace: string;
  /** How often `find` occurs in the file. All occurrences are replaced. */
  places: number;
}

/** Returns path and text of the compiled file, and its faulty text; null if `find` does not occur `places` times. */
export async function compiledWith(
  { file, find, replace, places }: Fault,
  dist: string,
): Promise<{ path: string; text: string; faulty: string | null }> {
  const path = join(dist, file.replace(/\.ts$/, '.js'));
  const text = await readFile(path, 'utf8').catch(() => '');
  const parts = text.split(find);
  return { path, text, faulty: parts.length === places + 1 ? parts.join(replace) : null };
}
