import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join, relative } from 'node:path';
import { SYSTEM_PATH } from './command-wrappers.js';

/**
 * Returns the folders of the Node.js and npm that the platform uses. The first is the folder of the Node.js that runs
 * the platform. If it has no npm, as with a Node.js installed from npm, the first folder in PATH with both programs is
 * added, unless it is a system folder. That folder is also left out if its parent contains `home`, the platform's home
 * directory, because hosted commands can read the parent.
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
