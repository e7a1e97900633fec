import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

/** Returns the first Node.js in the PATH outside of `node_modules`, which may be older than the tests' own. */
export async function machineNode(): Promise<{ file: string; version: string }> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const file = join(folder, 'node');
    const found = await access(file).then(
      () => !folder.includes('node_modules'),
      () => false,
    );
    if (!found) continue;
    const { stdout } = await promisify(execFile)(file, ['-p', 'process.versions.node']);
    return { file, version: stdout.trim() };
  }
  return { file: process.execPath, version: process.versions.node };
}
