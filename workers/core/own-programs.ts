import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join, relative } from 'node:path';
import { SYSTEM_PATH } from './command-wrappers.js';

/**
 * Returns the folders of the Node.js and npm that the platform uses. The Node.js that runs the platform may have no
 * npm; then the first folder in PATH with both programs is added. That folder is left out if its parent, which hosted
 * commands can read, contains `home`.
 */
export function ownFolders(execPath: string, path: string, home: string): string[] {
  const node = dirname(execPath);
  const has = (folder: string, name: string) => existsSync(join(folder, name));
  if (has(node, 'npm')) return [node];
  const folders = path.split(delimiter).filter(isAbsolute);
  const machine = folders.find((folder) => has(folder, 'node') && has(folder, 'npm'));
  if (machine === undefined || SYSTEM_PATH.split(':').includes(machine)) return [node];
  const real = realpathSync(machine);
  return relative(dirname(real), home).startsWith('..') ? [node, real] : [node];
}

export const OWN_FOLDERS: readonly string[] = ownFolders(process.execPath, process.env.PATH ?? '', homedir());

/** PATH for the tools that the platform itself runs during builds. */
export const OWN_PATH = [...OWN_FOLDERS, SYSTEM_PATH].join(':');
