import { lchown, lstat, readdir, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { unlessAbsent } from '../../shared/core/exists.js';

/** Limits of a small tree. A separate command handles larger or deeper ones, so that they do not block this process. */
const MAX_ENTRIES = 64;
const DEEPEST = 8;

interface Entry {
  path: string;
  isFolder: boolean;
}

/**
 * Removes a small directory tree without starting a process. Returns false if the tree is too large, contains a mounted
 * file system, or cannot be removed this way; part of it may then be gone. Enters only folders that no other user can
 * replace by a link, so it follows no link even if a tenant changes the tree meanwhile.
 */
export function removeSmallTree(root: string): Promise<boolean> {
  return onEachEntry(root, ({ path, isFolder }) => (isFolder ? rmdir(path) : unlink(path)));
}

/**
 * Changes the owner of a small directory tree that belongs to this process's user. Returns false if the tree is too
 * large or cannot be changed this way. Changes the root last: if the root is closed to others, the new owner cannot
 * enter the tree before everything in it has changed.
 */
export function ownSmallTree(root: string, uid: number, gid: number): Promise<boolean> {
  return onEachEntry(root, ({ path }) => lchown(path, uid, gid));
}

/** Calls `work` for each entry of a small tree, for a folder after its content. Returns false if that fails. */
async function onEachEntry(root: string, work: (entry: Entry) => Promise<void>): Promise<boolean> {
  try {
    const entries = await listSmall(root);
    for (const entry of entries?.reverse() ?? []) await work(entry);
    return entries !== null;
  } catch {
    return false;
  }
}

/**
 * Lists the entries of a tree, each folder before its content; empty if the root does not exist. Returns null if there
 * are too many, if the tree contains a mounted file system, or if another user could replace a folder by a link.
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

/** Returns true if only this process's user and root can replace entries of the folder. */
function isOurs({ uid, mode }: { uid: number; mode: number }): boolean {
  return uid === process.getuid?.() && (mode & 0o022) === 0;
}
