import type { Stats } from 'node:fs';
import { lstat, open, readdir, readFile, readlink } from 'node:fs/promises';
import { join, posix, relative } from 'node:path';
import type { ServiceConfiguration } from '../../../shared/services/configuration.js';
import type { ServiceKind } from '../../../shared/services/model.js';
import { BuildError } from '../../failures/explained-errors.js';
import { isBelow } from '../../sandbox/sandbox-plan.js';
import { type LockedEngines, npmEngines, pnpmEngines } from '../toolchains/locked-engines.js';
import { VERSION_FILES } from '../toolchains/version-files.js';

/** The names of a project's files, and the content of those files that determine how the project is built. */
export interface ProjectFiles {
  /** Returns true if the project has a file or folder of this name or relative path, down to a limited depth. */
  has(name: string): boolean;
  text(name: string): string | undefined;
  /** Returns the names in the project's folder itself. */
  names(): string[];
  below(folder: string): string[];
  /** Package → the versions of Node.js that it requires, as the lock file records them (`engines`). */
  engines: LockedEngines;
}

/** Returns the part of a configuration that determines how a project is built. It contains no secret. */
export function projectOf(configuration: ServiceConfiguration, kind: ServiceKind) {
  const { rootDirectory, runtime, buildMethod, sourceType, buildCommand, startCommand } = configuration;
  return { rootDirectory, kind, settings: { runtime, buildMethod, sourceType, buildCommand, startCommand } };
}

const TOLD = ['package.json', 'Procfile'];
const TOOL_FILES = [
  ...['.nvmrc', '.node-version', ...VERSION_FILES],
  ...['.bun-version', '.yarnrc', '.yarnrc.yml', 'pnpm-workspace.yaml'],
];
/** Lock files whose first `LOCK_HEAD` bytes are read, because their beginning states their format. */
const LOCK_FILES = ['pnpm-lock.yaml', 'yarn.lock'];
const LOCK_HEAD = 64 * 1024;
const MAX_LOCK_BYTES = 16 * 1024 * 1024;
const MAX_TOLD_BYTES = 1024 * 1024;

export function projectFiles(
  names: Iterable<string>,
  texts: Readonly<Record<string, string>>,
  engines: LockedEngines = {},
): ProjectFiles {
  const all = new Set(names);
  return {
    has: (name) => all.has(name),
    text: (name) => (Object.hasOwn(texts, name) ? texts[name] : undefined),
    names: () => [...all].filter((name) => !name.includes('/')).sort(),
    below: (folder) =>
      [...all]
        .filter((name) => posix.dirname(name) === folder)
        .map((name) => posix.basename(name))
        .sort(),
    engines,
  };
}

/** Reads a project's files. A link that leads out of the folder is ignored. */
export async function readProject(folder: string): Promise<ProjectFiles> {
  const texts: Record<string, string> = {};
  for (const name of [...TOLD, ...TOOL_FILES, ...LOCK_FILES]) {
    const text = await (LOCK_FILES.includes(name) ? headInside(folder, name, LOCK_HEAD) : textInside(folder, name));
    if (text !== undefined) texts[name] = text;
  }
  return projectFiles(await readdir(folder), texts, await lockedEngines(folder));
}

async function lockedEngines(folder: string): Promise<LockedEngines> {
  const pnpm = await headInside(folder, 'pnpm-lock.yaml', MAX_LOCK_BYTES);
  if (pnpm !== undefined) return pnpmEngines(pnpm);
  const npm = await headInside(folder, 'package-lock.json', MAX_LOCK_BYTES);
  return npm === undefined ? {} : npmEngines(npm);
}

/** Returns a file's text; undefined if it is missing or outside `folder`. Throws `BuildError` if it is too large. */
export async function textInside(folder: string, name: string): Promise<string | undefined> {
  const found = await fileAt(folder, name);
  if (found === null) return undefined;
  if (found.size > MAX_TOLD_BYTES)
    throw new BuildError(`${name} is larger than ${MAX_TOLD_BYTES / 1024} KiB; make it smaller`);
  return readFile(found.path, 'utf8');
}

/** Returns a file's text; undefined if it is missing, too large, or outside `folder`. */
export async function wholeInside(
  folder: string,
  name: string,
  maxBytes = MAX_LOCK_BYTES,
): Promise<string | undefined> {
  const found = await fileAt(folder, name);
  return found === null || found.size > maxBytes ? undefined : readFile(found.path, 'utf8');
}

async function headInside(folder: string, name: string, bytes: number): Promise<string | undefined> {
  const found = await fileAt(folder, name);
  if (found === null) return undefined;
  const file = await open(found.path, 'r');
  try {
    const size = Math.min(bytes, found.size);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Returns the real path and the size of a file inside a folder; null if there is no such file. */
export async function fileAt(folder: string, name: string): Promise<{ path: string; size: number } | null> {
  const path = await resolveInside(folder, name);
  const stat = typeof path === 'string' ? await lstat(path) : null;
  return typeof path === 'string' && stat?.isFile() ? { path, size: stat.size } : null;
}

export type EntryKind = 'file' | 'directory';

/** Returns whether a path inside a folder is a file or a folder; undefined for other paths. */
export async function kindInside(root: string, path: string): Promise<EntryKind | undefined> {
  const real = await resolveInside(root, path);
  return typeof real === 'string' ? kindOf(await lstat(real)) : undefined;
}

/** Returns the kind of an entry of a folder; undefined if it is neither file nor folder. */
export function kindOf(entry: { isFile(): boolean; isDirectory(): boolean }): EntryKind | undefined {
  if (entry.isFile()) return 'file';
  return entry.isDirectory() ? 'directory' : undefined;
}

/** Returns the real path of a file inside a folder. Throws a `BuildError` that names the setting `what`. */
export function fileInside(root: string, path: string, what: string): Promise<string> {
  return entryInside(root, path, `${what} "${path}"`, 'file', 'is no file of the repository');
}

/** Returns the real path of a folder inside another. Throws a `BuildError` that names the setting `what`. */
export function folderInside(root: string, path: string, what: string): Promise<string> {
  return entryInside(root, path, `${what} "${path}"`, 'directory', 'does not exist');
}

async function entryInside(
  root: string,
  path: string,
  setting: string,
  kind: EntryKind,
  problem: string,
): Promise<string> {
  const found = await resolveInside(root, path);
  if (found === OUTSIDE) throw new BuildError(`${setting} leads out of the repository; name a path inside it`);
  if (found !== MISSING && kindOf(await lstat(found)) === kind) return found;
  throw new BuildError(`${setting} ${problem}; ${await contents(root)}`);
}

/** Result of `resolveInside`: the path, or a link on it, leads out of the folder. Nothing outside was read. */
export const OUTSIDE = Symbol('outside');
/** Result of `resolveInside`: nothing exists at the path. */
export const MISSING = Symbol('missing');
/** Maximum number of links that Linux follows in one path. */
const MAX_LINKS = 40;

/**
 * Returns the real path of a path below `root`, which must be a real path. Follows links itself and reads nothing
 * outside `root`: the result must not reveal which files this host has. The folder must not change meanwhile.
 */
export async function resolveInside(root: string, path: string): Promise<string | typeof OUTSIDE | typeof MISSING> {
  if (path.includes('\0')) return MISSING;
  let [at, links] = [root, 0];
  const parts = path.split('/').reverse();
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    if (part === '' || part === '.') continue;
    if (part === '..') {
      if (at === root) return OUTSIDE;
      at = join(at, '..');
      continue;
    }
    const next = join(at, part);
    const stat = await lstat(next).catch(() => null);
    if (stat === null) return MISSING;
    if (!stat.isSymbolicLink()) {
      at = next;
      continue;
    }
    links += 1;
    if (links > MAX_LINKS) return MISSING;
    const target = await readlink(next);
    if (target.startsWith('/')) {
      if (!isBelow(target, root)) return OUTSIDE;
      at = root;
      parts.push(...relative(root, target).split('/').reverse());
    } else parts.push(...target.split('/').reverse());
  }
  return at;
}

/** Returns the `lstat` of a path that `readdir` has listed. Throws `BuildError` if the path cannot be used. */
export function lstatOf(path: string, shown: string): Promise<Stats> {
  return lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new BuildError(`the name of the file "${shown}" is not UTF-8; rename it`);
    if (error.code === 'ENAMETOOLONG') {
      throw new BuildError(`a path is too long: "${shown.slice(0, 100)}…"; shorten it`);
    }
    throw error;
  });
}

const NAMED = 20;

/** Returns a folder's content for an error message: `the folder has: a, b and 3 more`. */
export async function contents(folder: string): Promise<string> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.map((entry) => `${entry.name}${entry.isDirectory() ? '/' : ''}`).sort();
  if (names.length === 0) return 'the folder is empty';
  const more = names.length - NAMED;
  return `the folder has: ${names.slice(0, NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
