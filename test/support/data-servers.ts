import { chmod, chown, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { findPostgres, type PostgresBinaries } from '../../shared/launcher/postgres-binaries.js';
import { postgresUser, runAs, type SystemUser } from '../../shared/launcher/system-user.js';
import { spawnTethered, type Tethered } from '../../shared/launcher/tethered-child.js';
import { eventually, freePorts } from './processes.js';

export interface TestPostgres {
  dataFolder: string;
  admin: { host: string; port: number; user: string; password: string; database: string };
  installation: string;
  connect(database?: string, user?: string): Promise<pg.Client>;
  kill(): Promise<void>;
  stop(): Promise<void>;
}

const WAL_SETTINGS = { wal_level: 'replica', max_wal_senders: '4', max_replication_slots: '4', max_wal_size: '64MB' };

/** Starts a server on a new cluster. `installation` is the folder of another version of PostgreSQL. */
export async function startPostgresServer(
  settings: Record<string, string> = {},
  initdbOptions: string[] = ['--data-checksums'],
  installation: string | null = null,
): Promise<TestPostgres> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'ranvier-source-')));
  await chmod(folder, 0o711);
  const user = await postgresUser(null);
  const binaries = installation === null ? await findPostgres([], user) : binariesOf(installation);
  const dataFolder = join(folder, 'data');
  await mkdir(dataFolder, { mode: 0o700 });
  if (user) await chown(dataFolder, user.uid, user.gid);
  await runAs(user, binaries.initdb, ['-D', dataFolder, '-U', 'admin', '--auth=trust', '--no-sync', ...initdbOptions]);
  const [port = 0] = await freePorts(1);
  const server = await serve(binaries, user, dataFolder, port, settings);
  const admin = { host: '127.0.0.1', port, user: 'admin', password: 'unused', database: 'postgres' };
  const connect = async (database = 'postgres', user = admin.user) => {
    const client = new pg.Client({ ...admin, database, user });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  await eventually('the server accepts connections', async () => {
    const client = await connect();
    await client.end();
    return true;
  });
  const end = async () => {
    await server.ended;
    await rm(folder, { recursive: true, force: true });
  };
  return {
    dataFolder,
    admin,
    installation: dirname(dirname(binaries.postgres)),
    connect,
    async kill() {
      server.killGroup();
      await end();
    },
    async stop() {
      server.kill('SIGINT');
      await end();
    },
  };
}

function binariesOf(installation: string): PostgresBinaries {
  const bin = join(installation, 'bin');
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres'), major: '' };
}

function serve(
  { postgres }: PostgresBinaries,
  user: SystemUser | undefined,
  dataFolder: string,
  port: number,
  settings: Record<string, string>,
): Promise<Tethered> {
  const all = {
    ...WAL_SETTINGS,
    fsync: 'off',
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    ...settings,
  };
  const options = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return spawnTethered([postgres, '-D', dataFolder, '-p', String(port), ...options], {
    stopSignal: 'INT',
    orphanSeconds: 5,
    label: 'ranvier-test-source',
    env: { PATH: process.env.PATH, LANG: 'C' },
    cwd: '/',
    user,
  });
}
