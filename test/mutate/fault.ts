import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** One small change of the code that a test should notice. `find` stands in the compiled file. */
export interface Fault {
  name: string;
  /** The source, from the root. */
  file: string;
  find: string;
  replace: string;
  /** How often `find` stands in the file: all of these are replaced. */
  places: number;
}

/** The compiled file of a fault below `dist`: its text without and with the fault. The latter is null if it does not match any more. */
export async function compiledWith(
  { file, find, replace, places }: Fault,
  dist: string,
): Promise<{ path: string; text: string; faulty: string | null }> {
  const path = join(dist, file.replace(/\.ts$/, '.js'));
  const text = await readFile(path, 'utf8').catch(() => '');
  const parts = text.split(find);
  return { path, text, faulty: parts.length === places + 1 ? parts.join(replace) : null };
}
