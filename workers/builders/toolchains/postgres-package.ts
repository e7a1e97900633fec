import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import semver from 'semver';
import { ownPostgres } from '../../../shared/core/postgres-package.js';
import { runLimited } from '../../../shared/core/run-limited.js';

/** Copies the platform's own PostgreSQL to `fresh`. Returns false if the platform has none in this `version`. */
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
  await runLimited('cp', ['-RP', '--', own.folder, target], { signal });
  return true;
}

/** Returns true if a version belongs to a major version. A semver range would exclude the package's prereleases. */
export function isOfMajor(version: string, major: string): boolean {
  return String(semver.major(version)) === major;
}

/** Returns the newest version that belongs to a major version; null if there is none. */
export function newestOfMajor(versions: readonly string[], major: string): string | null {
  return semver.rsort(versions.filter((version) => isOfMajor(version, major)))[0] ?? null;
}
