import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { errorMessage } from '../core/error-registry.js';
import type { Logger } from '../core/log.js';
import { endLeftovers } from './leftover-processes.js';
import { addressFiles, DATABASE, serverUrl } from './postgres-address.js';
import { childOptions, ensureCluster, type Place, preparePlace, recentLines } from './postgres-cluster.js';
import { clearSocketFolder, PORT } from './postgres-socket.js';
import { writePrivately } from './private-file.js';
import { spawnTethered, type Tethered } from './tethered-child.js';

export interface PostgresOptions {
  dataDir: string;
  log: Logger;
  /** Called if the server exited unexpectedly and could not be restarted. */
  onGone?: (error: Error) => void;
  /** False only in tests: a crash of the machine then loses data. */
  durable?: boolean;
  /** Set only in tests. */
  maxConnections?: number;
}

export interface EmbeddedPostgres {
  /** The connection URL of the database `ranvier`, as superuser and over a socket. */
  url: string;
  pid(): number;
  stop(): Promise<void>;
}

const STOP_MS = 10_000;
const RESTART_WAITS_MS = [0, 500, 2000, 5000];

/**
 * Starts the embedded PostgreSQL on a private socket. Restarts a server that exits unexpectedly, and stops it when this
 * process exits, even after kill -9. If this process is root, the server runs as another user, who need not have access
 * to the folder's parents.
 */
export async function startPostgres(options: PostgresOptions): Promise<EmbeddedPostgres> {
  const place = await preparePlace(options.dataDir);
  const server = new Server(place, options);
  try {
    await endLeftovers(place.label, options.log);
    await ensureCluster(place);
    await server.start();
    await ensureDatabase(server.url('postgres'));
  } catch (error) {
    await server.stop();
    throw error;
  }
  return { url: server.url(DATABASE), pid: () => server.pid(), stop: () => server.stop() };
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
  #stopping = false;
  #restarting: Promise<void> = Promise.resolve();

  constructor(place: Place, options: PostgresOptions) {
    this.#place = place;
    this.#options = options;
  }

  url(database: string): string {
    return serverUrl(this.#place.password, this.#place.socket.path, database);
  }

  pid(): number {
    if (!this.#running) throw new Error('PostgreSQL is not running');
    return this.#running.pid;
  }

  async start(): Promise<void> {
    await this.#run();
    await writePrivately(addressFiles(this.#options.dataDir).socket, this.#place.socket.path);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#restarting;
    const running = this.#running;
    if (running) {
      running.kill('SIGINT');
      const timer = setTimeout(() => running.killGroup(), STOP_MS);
      await running.ended;
      clearTimeout(timer);
    }
    await this.#place.handle.close();
    await this.#place.socket.remove();
  }

  async #run(): Promise<void> {
    const { binaries, data, seen, socket, label } = this.#place;
    const settings = {
      ...SETTINGS,
      unix_socket_directories: quoted(socket.seen),
      ...(this.#options.durable === false ? NOT_DURABLE : {}),
      ...(this.#options.maxConnections === undefined ? {} : { max_connections: this.#options.maxConnections }),
      cluster_name: label,
    };
    // No server uses this data now. If the pid in the file belongs to another program by now, PostgreSQL would refuse
    // to start.
    await rm(join(data, 'postmaster.pid'), { force: true });
    await clearSocketFolder(socket);
    const argv = [binaries.postgres, '-D', `${seen}/data`, '-p', String(PORT)];
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
    void server.ended.then((end) => {
      if (!this.#stopping) this.#restarting = this.#startAgain(end);
    });
  }

  async #startAgain(end: string): Promise<void> {
    const { log, onGone } = this.#options;
    log.error({ end }, 'PostgreSQL ended by itself; starting it again');
    let failure: unknown;
    for (const wait of RESTART_WAITS_MS) {
      await delay(wait);
      if (this.#stopping) return;
      try {
        await endLeftovers(this.#place.label, log);
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

/** For a small machine that also builds and hosts applications: no parallel queries, no replication, little memory. */
const SETTINGS = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
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
  // Failed statements are not logged, because they may contain secret values. The clients report the failures.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
};

/** For tests, in which data may be lost in a crash and many platforms connect to one server. */
const NOT_DURABLE = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off', max_connections: 800 };

function quoted(path: string): string {
  return `"${path.replaceAll('"', '""')}"`;
}
