import { lchown, lstat, readdir, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { unlessAbsent } from '../../shared/core/exists.js';

/** Larger or deeper trees are left to a command, so that they do not keep this process busy. */
const MAX_ENTRIES = 64;
const DEEPEST = 8;

interface Entry {
  path: string;
  isFolder: boolean;
}

/**
 * Removes a small tree without starting a process. Returns false, and may have removed a part, if the tree is not small, has
 * a mounted file system in it, or cannot be removed like this. Follows no link, also if a tenant changes the tree meanwhile:
 * no path goes through a folder that somebody else could replace by a link.
 */
export async function removeSmallTree(path: string): Promise<boolean> {
  try {
    const entries = await listSmall(path);
    if (entries === null) return false;
    for (const entry of entries.reverse()) await (entry.isFolder ? rmdir(entry.path) : unlink(entry.path));
    return true;
  } catch {
    return false;
  }
}

/**
 * Changes the owner of a small tree that is this process's own. Returns false if the tree is not small. The root comes last:
 * before that, the new owner cannot enter the tree if its root is closed to others.
 */
export async function ownSmallTree(path: string, uid: number, gid: number): Promise<boolean> {
  try {
    const entries = await listSmall(path);
    if (entries === null) return false;
    for (const entry of entries.reverse()) await lchown(entry.path, uid, gid);
    return true;
  } catch {
    return false;
  }
}

/**
 * The tree's entries, each folder before what it contains; none if there is nothing. Null if there are too many, or a folder
 * that somebody else could replace by a link.
 */
async function listSmall(root: string): Promise<Entry[] | null> {
  const found = await unlessAbsent(lstat(root));
  if (found === null) return [];
  const entries: Entry[] = [{ path: root, isFolder: found.isDirectory() }];
  const folders = found.isDirectory() ? [{ path: root, depth: 0, isOurs: isOurs(found) }] : [];
  for (const { path, depth, isOurs: keepsItsEntries } of folders) {
    const names = await readdir(path);
    if (depth >= DEEPEST || entries.length + names.length > MAX_ENTRIES) return null;
    for (const name of names) {
      const inner = join(path, name);
      const stat = await lstat(inner);
      if (stat.dev !== found.dev) return null;
      entries.push({ path: inner, isFolder: stat.isDirectory() });
      if (!stat.isDirectory()) continue;
      if (!keepsItsEntries) return null;
      folders.push({ path: inner, depth: depth + 1, isOurs: isOurs(stat) });
    }
  }
  return entries;
}

/** True if only this process's user and root can replace entries of the folder. */
function isOurs({ uid, mode }: { uid: number; mode: number }): boolean {
  return uid === process.getuid?.() && (mode & 0o022) === 0;
}
