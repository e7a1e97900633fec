import { cp, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import semver from 'semver';
import { errorMessage } from '../../core/error-registry.js';
import { SYSTEM_PATH } from '../../core/limited-child.js';
import { resultOf, runLimited } from '../../core/run-limited.js';
import { VERSION } from '../../core/version.js';
import { copyPackage, removeOldVersions, usedVersion, useVersion } from './copy-package.js';
import { type InstallOptions, startDatabase, writeUnits } from './install.js';
import type { ServiceManager } from './systemd.js';
import { POSTGRES_UNIT } from './units.js';

const DUMP_MS = 60 * 60_000;
const KEPT_BACKUPS = 3;
/** The units in the order of their restarts. The worker hands over its work while the API and the edge still run. */
const UNITS = ['ranvier-worker.service', 'ranvier-api.service', 'ranvier-edge.service'];

export interface UpgradeOptions extends InstallOptions {
  settings: Readonly<Record<string, string>>;
  manager: ServiceManager;
  /** Resolves once the API of the new version is ready. */
  ready: () => Promise<void>;
}

/**
 * Replaces the installed version with this one. Applications keep running, and systemd holds new connections during
 * restarts. Throws before any change if this version is older.
 */
export async function upgrade(options: UpgradeOptions): Promise<void> {
  const { root, settings, manager, say, ready } = options;
  const before = await usedVersion(root);
  if (before === null) throw new Error('nothing is installed here: run "ranvier install"');
  const problem = reasonAgainst(before, VERSION);
  if (problem !== null) throw new Error(problem);
  say(`copies the package below ${root}`);
  const after = await copyPackage(root);
  const folder = join(root, after);
  say(`backs up the database: ${await backUp(options, `${before}-${Date.now()}`)}`);
  await runLimited(join(folder, 'node'), ['--enable-source-maps', join(folder, 'package/dist/migrations/main.js')], {
    env: { ...settings, PATH: process.env.PATH },
    timeout: DUMP_MS,
  });
  await useVersion(root, after);
  await writeUnits(options, options.paths);
  await manager.reload();
  for (const unit of UNITS) {
    say(`restarts ${unit}`);
    try {
      await manager.stop(unit);
      await manager.start(unit);
      await ready();
    } catch (error) {
      const back = `ln -sfn ${before} ${join(root, 'current')} && systemctl restart ${UNITS.join(' ')}`;
      throw new Error(`${errorMessage(error)}\n${before} runs on the migrated database too; to go back to it: ${back}`);
    }
  }
  await removeOldVersions(root, [after, before]);
  say(`${after} runs, in place of ${before}`);
}

/** Returns why a version cannot replace the installed one; null if it can. */
export function reasonAgainst(before: string, after: string): string | null {
  if (semver.lt(after, before)) {
    return `${before} is installed, which is newer than ${after}, and its database cannot go back: restore a backup with the older version (docs/how-to/restore.md)`;
  }
  return null;
}

/** Returns the backups to remove, which are all but the latest three. A backup's name ends with its time. */
export function backupsToRemove(names: readonly string[]): string[] {
  const timeOf = (name: string) => Number(name.slice(name.lastIndexOf('-') + 1));
  return [...names].sort((a, b) => timeOf(a) - timeOf(b)).slice(0, -KEPT_BACKUPS);
}

/** Backs up the database into DATA_DIR/upgrades and returns the backup's path. Keeps the last three backups. */
async function backUp(options: UpgradeOptions, name: string): Promise<string> {
  const { dataDir, settings, manager, isEmbedded } = options;
  const folder = join(dataDir, 'upgrades');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const place = join(folder, name);
  if (isEmbedded) {
    // A copy of the files is consistent only while the server is stopped. Visitors are still served meanwhile.
    await manager.stop(POSTGRES_UNIT);
    try {
      await cp(join(dataDir, 'postgres/data'), place, { recursive: true, preserveTimestamps: true });
    } finally {
      await startDatabase(manager, options);
    }
  } else {
    // The password is not an argument, because every user of the machine can list the arguments of processes.
    const url = new URL(settings.DATABASE_URL ?? '');
    const env = { PATH: SYSTEM_PATH, LC_ALL: 'C', PGPASSWORD: decodeURIComponent(url.password) };
    url.password = '';
    const dump = ['--format=custom', `--file=${place}`, '--dbname', url.href];
    const { code, stderr } = await resultOf('pg_dump', dump, { timeout: DUMP_MS, env });
    if (code !== 0) {
      throw new Error(`pg_dump failed (${stderr.trim().slice(-300)}): install the client of the database's version`);
    }
  }
  for (const entry of backupsToRemove(await readdir(folder)))
    await rm(join(folder, entry), { recursive: true, force: true });
  return place;
}
