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
 * Removes a small directory tree without starting a process. Returns false if that fails; then a part of the tree may
 * be gone. Follows no link, even if a tenant changes the tree meanwhile: enters only folders that no other user can
 * replace.
 */
export function removeSmallTree(root: string): Promise<boolean> {
  return onEachEntry(root, ({ path, isFolder }) => (isFolder ? rmdir(path) : unlink(path)));
}

/**
 * Changes the owner of a small directory tree of this process's user. Returns false if that fails. Changes the root
 * last. If the root is closed to other users, the new owner can enter it only after everything in it has changed.
 */
export function ownSmallTree(root: string, uid: number, gid: number): Promise<boolean> {
  return onEachEntry(root, ({ path }) => lchown(path, uid, gid));
}

/** Calls `work` for each entry, for a folder after its content. Returns false if that fails or the tree is large. */
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
 * Lists a tree, each folder before its content. Returns null if the tree is too large or contains a mount, or if others
 * can replace a folder in it.
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
