import { mkdir, readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { exists } from '../../core/exists.js';
import { runLimited } from '../../core/run-limited.js';
import { VERSION } from '../../core/version.js';
import { carriedNode, PACKAGE_ROOT } from '../package-root.js';

/**
 * Copies the running package and its dependencies to a new folder in `root`. Returns the folder's name. The links
 * `package` and `node` in it point to the package and to its Node.js. Throws if this is a checkout.
 */
export async function copyPackage(root: string): Promise<string> {
  const modules = dirname(PACKAGE_ROOT.replace(/\/$/, ''));
  if (basename(modules) !== 'node_modules') {
    throw new Error(`${PACKAGE_ROOT} is a checkout: run "npm pack", install the package, and run this command from it`);
  }
  await mkdir(root, { recursive: true });
  const version = freeName(VERSION, await readdir(root));
  const target = join(root, version);
  const fresh = `${target}.new`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true });
  // npm installs the dependencies of a global package inside its folder, and those of a local one next to it.
  const isGlobal = await exists(join(PACKAGE_ROOT, 'node_modules'));
  if (isGlobal) await mkdir(join(fresh, 'node_modules'));
  const [from, to] = isGlobal
    ? [PACKAGE_ROOT, join(fresh, 'node_modules/ranvier')]
    : [modules, join(fresh, 'node_modules')];
  await runLimited('cp', ['-a', '--reflink=auto', from.replace(/\/$/, ''), to], { timeout: 600_000 });
  const node = carriedNode() ?? process.execPath;
  await symlink('node_modules/ranvier', join(fresh, 'package'));
  await symlink(node.startsWith(from) ? join(relative(fresh, to), relative(from, node)) : node, join(fresh, 'node'));
  await rename(fresh, target);
  return version;
}

/** Returns an unused folder name for a version, because the files of a running version must not change. */
export function freeName(version: string, taken: readonly string[]): string {
  const names = [version, ...taken.map((_, index) => `${version}+${index + 2}`)];
  return names.find((name) => !taken.includes(name)) as string;
}

/** Deletes the folders of all versions except those in `kept`. */
export async function removeOldVersions(root: string, kept: readonly string[]): Promise<void> {
  const entries = await readdir(root, { withFileTypes: true });
  for (const entry of entries) {
    if (entry.isDirectory() && !kept.includes(entry.name)) await rm(join(root, entry.name), { recursive: true });
  }
}

/** Makes the link `<root>/current` point to this version's folder, atomically. */
export async function useVersion(root: string, version: string): Promise<void> {
  const fresh = join(root, '.current.new');
  await rm(fresh, { force: true });
  await symlink(version, fresh);
  await rename(fresh, join(root, 'current'));
}

/** Returns the installed version that is in use; null before the first installation. */
export function usedVersion(root: string): Promise<string | null> {
  return readlink(join(root, 'current')).catch(() => null);
}
