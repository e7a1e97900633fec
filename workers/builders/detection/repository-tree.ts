import { readdir } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { type EntryKind, kindInside, kindOf } from '../files/project-files.js';

/** Detection does not see files beyond these limits. */
const MAX_ENTRIES = 50_000;
const DEEPEST = 8;
/** Folders that do not affect how a project is built. */
const SKIPPED = new Set(['node_modules', '.git', '.hg', '.svn', '.yarn', '.pnpm-store']);

/** The names of a repository's files and folders, up to `MAX_ENTRIES`. '' is the repository itself. */
export class RepositoryTree {
  readonly #folders: ReadonlyMap<string, ReadonlyMap<string, EntryKind>>;

  constructor(folders: ReadonlyMap<string, ReadonlyMap<string, EntryKind>>) {
    this.#folders = folders;
  }

  /** Returns a tree with these files and their parent folders. */
  static of(paths: Iterable<string>): RepositoryTree {
    const folders = new Map<string, Map<string, EntryKind>>([['', new Map()]]);
    for (const path of paths) {
      const parts = path.split('/');
      parts.forEach((name, depth) => {
        const folder = parts.slice(0, depth).join('/');
        const kind = depth === parts.length - 1 ? 'file' : 'directory';
        const entries = folders.get(folder) ?? new Map<string, EntryKind>();
        folders.set(folder, entries.set(name, entries.get(name) ?? kind));
      });
    }
    return new RepositoryTree(folders);
  }

  kind(path: string): EntryKind | undefined {
    const clean = normal(path);
    if (clean === '') return 'directory';
    return this.#folders.get(parentOf(clean))?.get(posix.basename(clean));
  }

  entries(folder: string): ReadonlyMap<string, EntryKind> {
    return this.#folders.get(normal(folder)) ?? new Map();
  }

  /** Returns all folders that were read, the shallowest first. */
  folders(): string[] {
    return [...this.#folders.keys()];
  }

  /** Returns folders at or below `folder` that directly contain a file of this name, the shallowest first. */
  foldersWith(name: string, folder = ''): string[] {
    const prefix = folder === '' ? '' : `${normal(folder)}/`;
    const inside = (path: string) => prefix === '' || `${path}/`.startsWith(prefix);
    return [...this.#folders].filter(([path, all]) => inside(path) && all.get(name) === 'file').map(([path]) => path);
  }
}

/** Reads the tree breadth first. A link has the kind of its target, but a linked folder is not entered. */
export async function readTree(app: string): Promise<RepositoryTree> {
  const folders = new Map<string, Map<string, EntryKind>>();
  let seen = 0;
  let level = [''];
  for (let depth = 0; depth <= DEEPEST && level.length > 0; depth++) {
    const next: string[] = [];
    for (const folder of level) {
      if (seen > MAX_ENTRIES) return new RepositoryTree(folders);
      const entries = new Map<string, EntryKind>();
      folders.set(folder, entries);
      for (const entry of await readdir(join(app, folder), { withFileTypes: true })) {
        seen += 1;
        const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
        const kind = entry.isSymbolicLink() ? await kindInside(app, path) : kindOf(entry);
        if (kind === undefined) continue;
        entries.set(entry.name, kind);
        if (entry.isDirectory() && !SKIPPED.has(entry.name)) next.push(path);
      }
    }
    level = next;
  }
  return new RepositoryTree(folders);
}

/** Removes `.`, resolvable `..` and outer slashes. A path that leads out keeps its `..`, so that it matches nothing. */
export function normal(path: string): string {
  const clean = posix.normalize(path).replace(/^\/+/, '');
  const end = clean.endsWith('/') ? clean.slice(0, -1) : clean;
  return end === '.' ? '' : end;
}

/** Returns the parent folder of a path; '' for the repository's own folder. */
export function parentOf(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash < 0 ? '' : path.slice(0, slash);
}

/** Joins a folder and a name. The folder '' is the repository's own. */
export function inFolder(folder: string, name: string): string {
  return normal(folder === '' ? name : `${folder}/${name}`);
}
