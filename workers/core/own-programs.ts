import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join, relative } from 'node:path';
import { SYSTEM_PATH } from './command-wrappers.js';

/**
 * Returns the folder of the Node.js that runs the platform.
 * A Node.js from npm has no npm beside it. Then this machine's own folder of Node.js and npm is added, unless it
 * belongs to the system. Hosted commands see the files beside these folders, so a folder beside `home` is left out.
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

/** The PATH of the tools that the platform runs itself to make builds. */
export const OWN_PATH = [...OWN_FOLDERS, SYSTEM_PATH].join(':');
