import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import semver from 'semver';
import { postgresPackage } from './tool-packages.js';

const run = promisify(execFile);

/** The PostgreSQL that the platform brings along for itself. */
export interface OwnPostgres {
  folder: string;
  version: string;
}

/** The platform's own server package; null if it is not installed. */
export async function ownPostgres(): Promise<OwnPostgres | null> {
  try {
    const name = postgresPackage(process);
    const folder = dirname(dirname(createRequire(import.meta.url).resolve(name)));
    const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
    return { folder, version };
  } catch {
    return null;
  }
}

/** Copies the platform's own package if it is of this version, so that no registry is needed. False if it is not. */
export async function copyOwnPostgres(
  version: string,
  fresh: string,
  packageName: string,
  signal: AbortSignal,
): Promise<boolean> {
  const own = await ownPostgres();
  if (own === null || own.version !== version) return false;
  const target = join(fresh, 'node_modules', packageName);
  await mkdir(dirname(target), { recursive: true });
  await run('cp', ['-RP', '--', own.folder, target], { signal });
  return true;
}

/** npm does not carry symbolic links. The package lists those of its libraries; its install script never runs here. */
export async function linkLibraries(folder: string): Promise<void> {
  const list = JSON.parse(await readFile(join(folder, 'native', 'pg-symlinks.json'), 'utf8')) as unknown;
  if (!Array.isArray(list)) return;
  for (const { source, target } of list as { source: string; target: string }[]) {
    await symlink(basename(source), join(folder, target)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
}

/** True if a version is of a major version of PostgreSQL. All versions of the package are prereleases to semver. */
export function isOfMajor(version: string, major: string): boolean {
  return String(semver.major(version)) === major;
}

/** The newest version of a major version; null if there is none. */
export function newestOfMajor(versions: readonly string[], major: string): string | null {
  return semver.rsort(versions.filter((version) => isOfMajor(version, major)))[0] ?? null;
}
