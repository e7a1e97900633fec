import { lstat, readdir, readFile, realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { isBelow } from '../sandbox/plan.js';
import { BuildError } from './builder.js';

/** What detection knows of a project: the names in its folder and the text of the files that say how to build it. */
export interface ProjectFiles {
  has(name: string): boolean;
  /** A file's text; undefined where there is none. */
  text(name: string): string | undefined;
  names(): string[];
}

const TOLD = ['package.json', 'Procfile', 'pyproject.toml', 'requirements.txt', 'go.mod'];
const LARGEST_TOLD = 1024 * 1024;

export function projectFiles(names: Iterable<string>, texts: Readonly<Record<string, string>>): ProjectFiles {
  const all = new Set(names);
  return {
    has: (name) => all.has(name),
    text: (name) => (Object.hasOwn(texts, name) ? texts[name] : undefined),
    names: () => [...all].sort(),
  };
}

/** Reads a project as its repository shows it; a link that leads out of the folder is as good as absent. */
export async function readProject(folder: string): Promise<ProjectFiles> {
  const texts: Record<string, string> = {};
  for (const name of TOLD) {
    const text = await textInside(folder, name);
    if (text !== undefined) texts[name] = text;
  }
  return projectFiles(await readdir(folder), texts);
}

/** A small file's text; undefined where there is none, or a link leads out of the folder. Throws `BuildError`. */
export async function textInside(folder: string, name: string): Promise<string | undefined> {
  const path = await realpath(join(folder, name)).catch(() => null);
  if (path === null || !isBelow(path, folder)) return undefined;
  const stat = await lstat(path);
  if (!stat.isFile()) return undefined;
  if (stat.size > LARGEST_TOLD) throw new BuildError(`${name} is larger than ${LARGEST_TOLD / 1024} KiB`);
  return readFile(path, 'utf8');
}

/** The real path of a file inside a folder; otherwise as `folderInside`. */
export async function fileInside(root: string, path: string, what: string): Promise<string> {
  const found = await realpath(join(root, path)).catch(() => null);
  if (found === null || !(await lstat(found)).isFile()) {
    throw new BuildError(`${what} "${path}" is no file of the repository; ${await contents(root)}`);
  }
  if (!isBelow(found, root)) throw new BuildError(`${what} "${path}" leads out of the repository`);
  return found;
}

/**
 * The real path of a folder inside another. `what` names the setting in the `BuildError` that is thrown where there is no
 * such folder or a link leads out.
 */
export async function folderInside(root: string, path: string, what: string): Promise<string> {
  const found = await realpath(join(root, path)).catch(() => null);
  const folder = found !== null && (await lstat(found)).isDirectory() ? found : null;
  if (folder === null) throw new BuildError(`${what} "${path}" does not exist; ${await contents(root)}`);
  if (!isBelow(folder, root)) throw new BuildError(`${what} "${path}" leads out of the repository`);
  return folder;
}

const NAMED = 20;

/** `the folder has: a, b and 3 more`, for errors. */
export async function contents(folder: string): Promise<string> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.map((entry) => `${entry.name}${entry.isDirectory() ? '/' : ''}`).sort();
  if (names.length === 0) return 'the folder is empty';
  const more = names.length - NAMED;
  return `the folder has: ${names.slice(0, NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** The part of `path` below `root`; '' for the root itself. */
export function below(root: string, path: string): string {
  return relative(root, path);
}
