import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { exists } from '../../../shared/core/exists.js';

/**
 * The folder whose `include` has the headers of the Node.js that a build uses, with which native modules are compiled;
 * null if there are none. `tools` are the folders of the tools that the platform installed for the project.
 */
export async function nodeHeaders(tools: readonly string[], own = process.execPath): Promise<string | null> {
  for (const program of [...tools.map((folder) => join(folder, 'bin/node')), own]) {
    const real = await realpath(program).catch(() => null);
    if (real === null) continue;
    const folder = dirname(dirname(real));
    return (await exists(join(folder, 'include/node/node.h'))) ? folder : null;
  }
  return null;
}
