import { randomBytes } from 'node:crypto';
import { chmod, chown, type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { errorMessage } from '../errors.js';
import type { Logger } from '../log.js';
import { readIfThere, writePrivately } from './files.js';
import { addressFiles, DATABASE, SUPERUSER, serverUrl } from './postgres-address.js';
import { findPostgres, type PostgresBinaries } from './postgres-binaries.js';
import { clusterName, endLeftovers } from './postgres-leftovers.js';
import { postgresUser, runAs, type SystemUser } from './system-user.js';
import { spawnTethered, type Tethered, type TetherOptions } from './tethered.js';

export interface PostgresOptions {
  /** The platform's DATA_DIR, which exists; everything of PostgreSQL is in `postgres/` below it. */
  dataDir: string;
  log: Logger;
  /** Called where the server ended by itself and could not be started again. */
  onGone?: (error: Error) => void;
  /** False for tests only: the data does not survive the end of the machine. */
  durable?: boolean;
}

export interface EmbeddedPostgres {
  /** The superuser's address of the database `ranvier`; it stays the same over restarts while its port is free. */
  url: string;
  /** Process id of the server. */
  pid(): number;
  /** Ends the server: open connections are cut, committed work is kept. */
  stop(): Promise<void>;
}

const STOP_MS = 10_000;
/** Waits before the server is started again after it ended by itself. */
const RESTART_WAITS_MS = [0, 500, 2000, 5000];
const RECENT_LINES = 20;

/**
 * Starts the embedded PostgreSQL on 127.0.0.1, with its data in `dataDir`. Makes the data on the first start, recovers what a
 * kill left behind, starts the server again when it ends by itself, and ends it when this process does, even by kill -9.
 * As root it runs as another user, also where that user cannot enter the folder's parents.
 */
export async function startPostgres(options: PostgresOptions): Promise<EmbeddedPostgres> {
  const place = await preparePlace(options.dataDir);
  const server = new Server(place, options);
  try {
    await ensureCluster(place);
    await server.start();
    await ensureDatabase(server.url('postgres'));
  } catch (error) {
    await server.stop();
    throw error;
  }
  return { url: server.url(DATABASE), pid: () => server.pid(), stop: () => server.stop() };
}

/** Where the data is, who owns it, and how its owner can get there. */
interface Place {
  folder: string;
  data: string;
  /** `folder` as the server sees it: by its path, or through the open folder that we hand it. */
  seen: string;
  handle: FileHandle;
  user: SystemUser | undefined;
  binaries: PostgresBinaries;
  cluster: string;
  password: string;
}

async function preparePlace(dataDir: string): Promise<Place> {
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
  return {
    folder,
    data,
    // A folder below /root is closed to other users, but not to whom root hands the open folder.
    seen: reachable ? folder : '/proc/self/fd/4',
    handle: await open(folder),
    user,
    binaries,
    cluster: await clusterName(folder),
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

function childOptions(place: Place): TetherOptions {
  const env = { PATH: process.env.PATH, LANG: 'C', TZ: 'UTC' };
  const { user, handle } = place;
  return { stopSignal: 'INT', graceSeconds: STOP_MS / 1000, env, cwd: '/', user, passDescriptor: handle.fd };
}

/** Makes the data folder where there is none, complete or not at all. */
async function ensureCluster(place: Place): Promise<void> {
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

async function ensureDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, application_name: 'ranvier-embedded' });
  await client.connect();
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`create database ${DATABASE}`);
  } finally {
    await client.end();
  }
}

class Server {
  readonly #place: Place;
  readonly #options: PostgresOptions;
  #running: Tethered | null = null;
  #port = 0;
  #stopping = false;

  constructor(place: Place, options: PostgresOptions) {
    this.#place = place;
    this.#options = options;
  }

  url(database: string): string {
    return serverUrl(this.#place.password, this.#port, database);
  }

  pid(): number {
    if (!this.#running) throw new Error('PostgreSQL is not running');
    return this.#running.pid;
  }

  async start(): Promise<void> {
    await endLeftovers(this.#place.cluster, this.#place.data, this.#options.log);
    const kept = addressFiles(this.#options.dataDir).port;
    this.#port = await freePort(Number((await readIfThere(kept)) ?? 0));
    await this.#run();
    await writePrivately(kept, String(this.#port));
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    const running = this.#running;
    if (running) {
      running.kill('SIGINT');
      const timer = setTimeout(() => running.kill('SIGKILL', 'group'), STOP_MS);
      await running.ended;
      clearTimeout(timer);
    }
    await this.#place.handle.close();
  }

  /** Starts the server on our port and waits until it accepts connections. */
  async #run(): Promise<void> {
    const { binaries, seen, cluster } = this.#place;
    const settings = { ...SETTINGS, ...(this.#options.durable === false ? NOT_DURABLE : {}), cluster_name: cluster };
    const argv = [binaries.postgres, '-D', `${seen}/data`, '-p', String(this.#port)];
    for (const [name, value] of Object.entries(settings)) argv.push('-c', `${name}=${value}`);
    const server = await spawnTethered(argv, childOptions(this.#place));
    this.#running = server;
    let accepted = (): void => {};
    const ready = new Promise<'ready'>((resolve) => {
      accepted = () => resolve('ready');
    });
    const lines = recentLines(server, (line) => {
      this.#options.log.debug({ postgres: line });
      if (line.includes('ready to accept connections')) accepted();
    });
    const outcome = await Promise.race([ready, server.ended]);
    if (outcome !== 'ready') throw new Error(`PostgreSQL ended at its start (${outcome}):\n${lines.join('\n')}`);
    void server.ended.then((end) => this.#endedByItself(end));
  }

  async #endedByItself(end: string): Promise<void> {
    if (this.#stopping) return;
    const { log, onGone } = this.#options;
    log.error({ end }, 'PostgreSQL ended by itself; starting it again');
    let failure: unknown;
    for (const wait of RESTART_WAITS_MS) {
      await delay(wait);
      if (this.#stopping) return;
      try {
        await endLeftovers(this.#place.cluster, this.#place.data, log);
        await this.#run();
        return;
      } catch (error) {
        failure = error;
        log.error(`PostgreSQL could not be started again: ${errorMessage(error)}`);
      }
    }
    if (!this.#stopping) onGone?.(new Error(errorMessage(failure)));
  }
}

/** For a small machine that also builds and hosts: no parallel queries, no replication, modest memory. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 200,
  shared_buffers: '128MB',
  max_wal_size: '512MB',
  wal_level: 'minimal',
  max_wal_senders: 0,
  max_parallel_workers_per_gather: 0,
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  // Statements that fail are their caller's to report, and they may carry values that do not belong in a log.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
};

const NOT_DURABLE = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' };

/** The latest lines of the child's output, kept for an error message. */
function recentLines(child: Tethered, onLine: (line: string) => void = () => {}): string[] {
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

/** The wanted port where it is free, or else any free one. */
async function freePort(wanted: number): Promise<number> {
  return (await tryPort(wanted)) ?? (await tryPort(0)) ?? 0;
}

function tryPort(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(null));
    probe.listen(port, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : null));
    });
  });
}
