import { chmod, chown, mkdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import semver from 'semver';
import { loadConfig } from '../../core/config.js';
import { createDatabase } from '../../core/database/database-client.js';
import { migrate } from '../../core/database/migrate.js';
import { resultOf, runLimited } from '../../core/run-limited.js';
import { VERSION } from '../../core/version.js';
import { createSignInLink } from '../../identity/sign-in.js';
import { ensureCredentials } from '../../launcher/credentials.js';
import { embeddedUrl } from '../../launcher/postgres-address.js';
import { parseProcfile } from '../../launcher/procfile.js';
import { migrateQueues } from '../../queues/bull-pool.js';
import { copyPackage, usedVersion, useVersion } from './copy-package.js';
import { keepSettings } from './settings-file.js';
import type { ServiceManager } from './systemd.js';
import { type Installation, POSTGRES_UNIT, SYSTEM_USER, TARGET, unitFiles } from './units.js';

const START_MS = 60_000;
const POLL_INTERVAL_MS = 200;
const COMMANDS = { ranvier: 'dist/shared/operator/main.js', rnv: 'dist/api/cli/main.js' };

/** The host's folders for systemd units and for links to the commands. */
export interface HostPaths {
  unitFolder: string;
  linkFolder: string;
}

export interface InstallOptions extends Installation {
  paths: HostPaths;
  /** Connection URL of an external database; null if the embedded one is used. */
  databaseUrl: string | null;
  /** Null if the host has no service manager: files are then written, but nothing is started. */
  manager: ServiceManager | null;
  say: (line: string) => void;
}

/**
 * Installs this version. Repeating the installation restores what is missing, and keeps settings and data. Throws if
 * another version is installed.
 */
export async function install(options: InstallOptions): Promise<void> {
  const { root, dataDir, settingsFile, databaseUrl, manager, say, ports } = options;
  const used = await usedVersion(root);
  if (used === null) {
    say(`copies the package below ${root}`);
    await useVersion(root, await copyPackage(root));
  } else if (semver.compare(used, VERSION) !== 0) {
    throw new Error(`${used} is installed: run "ranvier upgrade" of ${VERSION}`);
  }
  await linkCommands(options);
  const user = await systemUser(dataDir);
  await makeFolders(dataDir, user);
  const settings = await keepSettings(settingsFile, {
    DATA_DIR: dataDir,
    PORT: String(ports.api),
    EDGE_PORT: String(ports.edge),
    ...(databaseUrl === null ? {} : { DATABASE_URL: databaseUrl }),
  });
  await writeUnits(options, options.paths);
  say(`settings: ${settingsFile}; units: ${options.paths.unitFolder}/ranvier*`);
  if (manager === null) {
    say('systemd does not run here, so nothing is started: run "ranvier install" again where it does');
    return;
  }
  await manager.reload();
  if (options.isEmbedded) {
    const url = await startDatabase(manager, options);
    Object.assign(settings, await keepSettings(settingsFile, { DATABASE_URL: url }));
  }
  await prepareDatabase(settings, say);
  for (const unit of await unitNames(options)) await manager.enable(unit);
  await manager.start(TARGET);
}

/** Returns the names of all systemd units of the installed version. */
export async function unitNames(installation: Installation): Promise<string[]> {
  return Object.keys(unitFiles(installation, await processesOf(installation.root)));
}

/** Writes the systemd units of this version. */
export async function writeUnits(installation: Installation, { unitFolder }: HostPaths): Promise<void> {
  await mkdir(unitFolder, { recursive: true });
  const files = unitFiles(installation, await processesOf(installation.root));
  for (const [name, text] of Object.entries(files)) await writeFile(join(unitFolder, name), text);
}

async function processesOf(root: string) {
  return parseProcfile(await readFile(join(root, 'current/package/Procfile'), 'utf8'));
}

/** Keeps existing links. npm may have created them, and it refuses to replace links that it has not created. */
async function linkCommands({ root, paths: { linkFolder } }: InstallOptions): Promise<void> {
  await mkdir(linkFolder, { recursive: true });
  for (const [name, program] of Object.entries(COMMANDS)) {
    const target = join(root, 'current/package', program);
    await chmod(target, 0o755);
    await symlink(target, join(linkFolder, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
}

/** Deletes the links of the commands, except those that npm created. */
export async function unlinkCommands({ root, paths: { linkFolder } }: InstallOptions): Promise<void> {
  for (const name of Object.keys(COMMANDS)) {
    const link = join(linkFolder, name);
    const target = await readlink(link).catch(() => '');
    if (target.startsWith(`${root}/`)) await rm(link);
  }
}

async function systemUser(home: string): Promise<{ uid: number; gid: number }> {
  const { code } = await resultOf('getent', ['passwd', SYSTEM_USER]);
  if (code !== 0) {
    const account = ['--system', '--user-group', '--home-dir', home, '--shell', '/usr/sbin/nologin'];
    await runLimited('useradd', [...account, SYSTEM_USER]);
  }
  const { stdout } = await runLimited('getent', ['passwd', SYSTEM_USER]);
  const [, , uid, gid] = stdout.split(':');
  return { uid: Number(uid), gid: Number(gid) };
}

async function makeFolders(dataDir: string, { uid, gid }: { uid: number; gid: number }): Promise<void> {
  await mkdir(dataDir, { recursive: true });
  // Hosted applications run as other users and need access to subfolders.
  await chmod(dataDir, 0o711);
  for (const name of ['postgres', 'pushed']) {
    await mkdir(join(dataDir, name), { recursive: true });
    await chown(join(dataDir, name), uid, gid);
  }
}

/** Starts the embedded PostgreSQL, waits until it accepts connections, and returns its URL. */
export async function startDatabase(
  manager: ServiceManager,
  { dataDir }: Pick<Installation, 'dataDir'>,
): Promise<string> {
  await manager.start(POSTGRES_UNIT);
  const deadline = Date.now() + START_MS;
  while (Date.now() < deadline) {
    const url = await embeddedUrl(dataDir);
    const client = url === null ? null : new pg.Client({ connectionString: url });
    const accepts = await client?.connect().then(
      () => true,
      () => false,
    );
    await client?.end().catch(() => undefined);
    if (url !== null && accepts === true) return url;
    await delay(POLL_INTERVAL_MS);
  }
  throw new Error(`PostgreSQL did not start within ${START_MS / 1000} s: journalctl -u ${POSTGRES_UNIT}`);
}

/** Migrates the database and, at the first installation, creates the first owner. Prints how to sign in. */
async function prepareDatabase(settings: Record<string, string>, say: InstallOptions['say']): Promise<void> {
  const config = loadConfig(settings);
  const url = config.databaseUrl.reveal();
  const db = createDatabase({ url, name: 'ranvier-install', poolSize: 2, idleInTransactionMs: 0 });
  try {
    await migrate(db, url);
    if (config.redisUrl === null) await migrateQueues(url);
    const { credentials } = await ensureCredentials(db, config);
    const token = await createSignInLink(db, credentials.email);
    say(`owner: ${credentials.email}; password and key: ${join(config.dataDir, 'credentials.json')}`);
    say(`sign in, once, within 15 minutes: ${config.publicUrl}/sign-in#${token}`);
  } finally {
    await db.destroy();
  }
}
