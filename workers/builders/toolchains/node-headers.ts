import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { exists } from '../../../shared/core/exists.js';

/** A shell command that makes native modules compile with the headers next to the Node.js in the PATH. */
export const USE_HEADERS =
  'export npm_config_nodedir="$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")"; ';

/** Returns true if the build's Node.js has its headers beside it. `tools` are the folders of installed tools. */
export async function hasHeaders(tools: readonly string[], own = process.execPath): Promise<boolean> {
  for (const program of [...tools.map((folder) => join(folder, 'bin/node')), own]) {
    const real = await realpath(program).catch(() => null);
    if (real !== null) return exists(join(dirname(dirname(real)), 'include/node/node.h'));
  }
  return false;
}
