import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import pg from 'pg';
import { createLogger } from '../../shared/core/log.js';
import { type EmbeddedPostgres, startPostgres } from '../../shared/launcher/postgres.js';
import { embeddedUrl } from '../../shared/launcher/postgres-address.js';
import { runAs } from '../../shared/launcher/system-user.js';
import { listeningPortsOf } from '../../workers/sandbox/process-table.js';
import { eventually } from '../support/processes.js';

const ROOT = process.getuid?.() === 0;
const NOBODY = 65534;
const POSTGRES = fileURLToPath(new URL('../../shared/launcher/postgres.js', import.meta.url));
const log = createLogger('test', 'silent');

async function query<T>(url: string, sql: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  // A server that is killed cuts the connection; the query's rejection reports that.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(sql)).rows as T[];
  } finally {
    await client.end();
  }
}

async function failure(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'no failure',
    (error: Error) => error.message,
  );
}

describe('the embedded PostgreSQL', () => {
  let parent: string;
  let dataDir: string;
  let running: EmbeddedPostgres | null;

  async function start(durable = false): Promise<EmbeddedPostgres> {
    running = await startPostgres({ dataDir, log, durable });
    return running;
  }
  async function stop(): Promise<void> {
    await running?.stop();
    running = null;
  }

  beforeEach(async () => {
    running = null;
    parent = await mkdtemp(join(tmpdir(), 'ranvier-postgres-'));
    await chmod(parent, 0o755);
    dataDir = join(parent, 'data');
    await mkdir(dataDir);
  });
  afterEach(async () => {
    await stop();
    await rm(parent, { recursive: true, force: true });
  });

  it('is version 18 in UTF-8 with a password, and keeps its data and address over a restart', async () => {
    const first = await start();
    const [row] = await query<Record<string, string>>(
      first.url,
      `select current_setting('server_version_num')::int / 10000 as major, current_setting('server_encoding') as encoding,
              current_setting('password_encryption') as passwords, current_database() as database, upper('ä') as upper`,
    );
    expect(row).to.deep.equal({
      major: 18,
      encoding: 'UTF8',
      passwords: 'scram-sha-256',
      database: 'ranvier',
      upper: 'Ä',
    });
    await query(first.url, 'create table kept as select 42 as answer');
    await stop();
    const second = await start();
    expect(second.url).to.equal(first.url);
    expect(await embeddedUrl(dataDir)).to.equal(first.url);
    expect(await query(second.url, 'select answer from kept')).to.deep.equal([{ answer: 42 }]);
  });

  it('refuses a wrong password', async () => {
    const url = new URL((await start()).url);
    url.password = 'wrong';
    expect(await failure(query(url.href, 'select 1'))).to.match(/password authentication failed/);
    expect(((await stat(join(dataDir, 'postgres/password'))).mode & 0o777).toString(8)).to.equal('600');
  });

  it('is started again with what was committed, on its address, when the server is killed', async () => {
    const { url, pid } = await start(true);
    await query(url, 'create table kept as select 42 as answer');
    const killed = pid();
    process.kill(killed, 'SIGKILL');
    await eventually('another server answers', async () => {
      const rows = await query(url, 'select answer from kept');
      return rows.length === 1 && pid() !== killed;
    });
  });

  it('says so where the data belongs to another major version', async () => {
    await mkdir(join(dataDir, 'postgres/data'), { recursive: true });
    await writeFile(join(dataDir, 'postgres/data/PG_VERSION'), '15\n');
    expect(await failure(start())).to.match(/was written by PostgreSQL 15, this is 18/);
  });

  it('listens on no port, and on a socket in a folder that nobody else can enter', async () => {
    const { url, pid } = await start();
    const [row] = await query<Record<string, string>>(
      url,
      `select current_setting('listen_addresses') as addresses, inet_server_port() as port`,
    );
    expect(row).to.deep.equal({ addresses: '', port: null });
    const folder = new URL(url).searchParams.get('host') ?? '';
    const { mode, uid } = await stat(folder);
    expect((mode & 0o777).toString(8)).to.equal('700');
    expect(uid).to.equal((await stat(join(dataDir, 'postgres/data'))).uid);
    if (process.platform === 'linux') expect(await listeningPortsOf([pid()])).to.deep.equal([]);
    if (!ROOT) return;
    const stranger = { uid: 300_000, gid: 300_000 };
    expect(await failure(runAs(stranger, '/bin/sh', ['-c', `ls ${folder}`]))).to.match(/denied/);
  });

  it('is reached below a path that is too long for a socket', async () => {
    dataDir = join(parent, 'x'.repeat(60), 'y'.repeat(60));
    await mkdir(dataDir, { recursive: true });
    const { url } = await start();
    expect(await query(url, 'select 1 as one')).to.deep.equal([{ one: 1 }]);
    expect(await embeddedUrl(dataDir)).to.equal(url);
    const short = new URL(url).searchParams.get('host') ?? '';
    await stop();
    expect(await failure(stat(short))).to.match(/ENOENT/);
  });

  it('starts beside the socket and the lock of a server that was killed', async () => {
    const folder = new URL((await start()).url).searchParams.get('host') ?? '';
    await stop();
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, '.s.PGSQL.5432.lock'), `${process.pid}\n${dataDir}\n`);
    expect(await query((await start()).url, 'select 1 as one')).to.deep.equal([{ one: 1 }]);
  });

  it('runs as another user where we are root (needs root and /proc)', async function () {
    if (!ROOT || process.platform !== 'linux') this.skip();
    const { pid } = await start();
    expect(await readFile(`/proc/${pid()}/status`, 'utf8')).to.not.match(/^Uid:\t0\t/m);
    expect((await stat(join(dataDir, 'postgres/data'))).uid).to.not.equal(0);
  });

  it('runs below a folder that its user cannot enter (needs root and /proc)', async function () {
    if (!ROOT || process.platform !== 'linux') this.skip();
    await chmod(parent, 0o700);
    const first = await start();
    await query(first.url, 'create table kept as select 42 as answer');
    await stop();
    expect(await query((await start()).url, 'select answer from kept')).to.deep.equal([{ answer: 42 }]);
  });

  it('goes on as the owner of its data (needs root, and a checkout that other users can read)', async function () {
    const readable = runAs({ uid: NOBODY, gid: NOBODY }, '/bin/sh', ['-c', 'test -r "$1"', 'sh', POSTGRES]);
    const reachable = await readable.then(
      () => true,
      () => false,
    );
    if (!ROOT || !reachable) this.skip();
    await mkdir(join(dataDir, 'postgres'));
    await chown(join(dataDir, 'postgres'), NOBODY, NOBODY);
    await chown(dataDir, NOBODY, NOBODY);
    const script = `
      import { startPostgres } from ${JSON.stringify(POSTGRES)};
      import { createLogger } from ${JSON.stringify(new URL('../../shared/core/log.js', import.meta.url).href)};
      const postgres = await startPostgres({ dataDir: process.argv[1], log: createLogger('test', 'silent'), durable: false });
      process.stdout.write(postgres.url);
      await postgres.stop();`;
    const args = ['--input-type=module', '-e', script, dataDir];
    const asNobody = { uid: NOBODY, gid: NOBODY, cwd: '/', env: { PATH: process.env.PATH } };
    const { stdout } = await promisify(execFile)(process.execPath, args, asNobody);
    expect(stdout).to.match(/^postgres:/);
    expect((await stat(join(dataDir, 'postgres/data'))).uid).to.equal(NOBODY);
    const { url } = await start();
    expect(await query(url, 'select 1 as one')).to.deep.equal([{ one: 1 }]);
  });
});
