import { randomBytes } from 'node:crypto';
import { chmod, chown, type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { readIfThere } from '../core/exists.js';
import { labelOf } from './leftover-processes.js';
import { addressFiles, SUPERUSER } from './postgres-address.js';
import { findPostgres, type PostgresBinaries } from './postgres-binaries.js';
import { prepareSocketFolder, type SocketFolder } from './postgres-socket.js';
import { writePrivately } from './private-file.js';
import { postgresUser, runAs, type SystemUser } from './system-user.js';
import { spawnTethered, type Tethered, type TetherOptions } from './tethered-child.js';

const ORPHAN_SECONDS = 10;
const RECENT_LINES = 20;

export interface Place {
  folder: string;
  data: string;
  /**
   * The path of `folder` for the server. If the server's user cannot enter the folder, this is the path of an open
   * descriptor of the folder, which the server inherits.
   */
  seen: string;
  handle: FileHandle;
  socket: SocketFolder;
  user: SystemUser | undefined;
  binaries: PostgresBinaries;
  label: string;
  password: string;
}

/** Creates the database's folder, and finds PostgreSQL and its user. Throws an error that says what the host lacks. */
export async function preparePlace(dataDir: string): Promise<Place> {
  const folder = join(dataDir, 'postgres');
  const data = join(folder, 'data');
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o711);
  const owner = await stat(data).catch(() => null);
  const user = await postgresUser(owner);
  const reachable = await canEnter(folder, user);
  if (!reachable && process.platform !== 'linux') {
    throw new Error(`user id ${user?.uid} cannot enter ${folder}: set DATA_DIR to a folder that everybody can enter`);
  }
  const binaries = await findPostgres(reachable ? [folder] : [], user);
  // Other users cannot enter a folder below /root, but a process can use an open descriptor of the folder that root
  // passes to it.
  const seen = reachable ? folder : '/proc/self/fd/4';
  return {
    folder,
    data,
    seen,
    socket: await prepareSocketFolder(dataDir, seen, user),
    handle: await open(folder),
    user,
    binaries,
    label: await labelOf(folder),
    password: await keptPassword(addressFiles(dataDir).password),
  };
}

async function canEnter(folder: string, user: SystemUser | undefined): Promise<boolean> {
  return runAs(user, '/bin/sh', ['-c', 'cd "$1"', 'sh', folder]).then(
    () => true,
    () => false,
  );
}

async function keptPassword(path: string): Promise<string> {
  const kept = await readIfThere(path);
  if (kept !== null) return kept;
  const password = randomBytes(24).toString('base64url');
  await writePrivately(path, password);
  return password;
}

export function childOptions(place: Place): TetherOptions {
  const env = { PATH: process.env.PATH, LANG: 'C', TZ: 'UTC' };
  const { user, handle, label } = place;
  return { stopSignal: 'INT', orphanSeconds: ORPHAN_SECONDS, label, env, cwd: '/', user, passDescriptor: handle.fd };
}

/** Creates the data folder atomically if it is missing. Throws if another major version created it. */
export async function ensureCluster(place: Place): Promise<void> {
  const version = await readIfThere(join(place.data, 'PG_VERSION'));
  const { major } = place.binaries;
  if (version !== null) {
    if (version.trim() === major) return;
    throw new Error(
      `${place.data} was written by PostgreSQL ${version.trim()}, this is ${major}: move the folder away to begin anew, or serve it with its own version and set DATABASE_URL`,
    );
  }
  const fresh = join(place.folder, 'data.new');
  const passwordFile = join(place.folder, 'initdb-password');
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { mode: 0o700 });
  await writePrivately(passwordFile, place.password);
  for (const path of [fresh, passwordFile]) {
    if (place.user) await chown(path, place.user.uid, place.user.gid);
  }
  const argv = [
    ...[place.binaries.initdb, '-D', `${place.seen}/data.new`, '-U', SUPERUSER, '--auth=scram-sha-256'],
    ...[`--pwfile=${place.seen}/initdb-password`, '--encoding=UTF8', '--locale=C', '--locale-provider=builtin'],
    ...['--builtin-locale=C.UTF-8', '--wal-segsize=4', '--no-sync', '--no-instructions'],
  ];
  const initdb = await spawnTethered(argv, childOptions(place));
  const lines = recentLines(initdb);
  const end = await initdb.ended;
  await rm(passwordFile);
  if (end !== 'exit code 0') throw new Error(`initdb failed (${end}):\n${lines.join('\n')}`);
  await rename(fresh, place.data);
}

/** Collects the last lines of the child's output, for use in error messages. */
export function recentLines(child: Tethered, onLine: (line: string) => void = () => {}): string[] {
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      if (lines.length > RECENT_LINES) lines.shift();
      onLine(line);
    });
  }
  return lines;
}
