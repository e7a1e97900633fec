import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readdir, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createDatabase, type Db } from '../../shared/core/database/database-client.js';
import { migrate } from '../../shared/core/database/migrate.js';
import { createLogger } from '../../shared/core/log.js';
import { type EmbeddedPostgres, startPostgres } from '../../shared/launcher/postgres.js';
import { migrateQueues } from '../../shared/queues/bull-pool.js';

/** Each test file clones this migrated database, on one PostgreSQL server for the whole test run. */
const TEMPLATE = 'ranvier_template';

interface TestPostgresOptions {
  durable: boolean;
  onLine?: (line: string) => void;
  maxConnections?: number;
}

interface Run {
  postgres: EmbeddedPostgres;
  dataDir: string;
}
let run: Run | null = null;
const ADDRESS = 'TEST_POSTGRES_URL';

/** Mocha calls this once, before the first test. A parent process may have started the server already. */
export async function mochaGlobalSetup(): Promise<void> {
  if (process.env[ADDRESS] === undefined) await startTestPostgres({ durable: false });
}

/** Starts the server. `durable` data survives a crash of the server. `onLine` receives each line of its log. */
export async function startTestPostgres({ durable, onLine, maxConnections }: TestPostgresOptions): Promise<void> {
  const dataDir = await mkdtemp(join(durable ? tmpdir() : await memoryFolder(), 'ranvier-test-'));
  await chmod(dataDir, 0o711);
  const log = createLogger('test', 'error');
  if (onLine) log.debug = (line: unknown) => onLine(String((line as { postgres?: unknown }).postgres));
  const postgres = await startPostgres({
    dataDir,
    log,
    durable,
    ...(maxConnections === undefined ? {} : { maxConnections }),
  });
  run = { postgres, dataDir };
  try {
    await useTestPostgres(postgres.url);
  } catch (error) {
    await mochaGlobalTeardown();
    throw error;
  }
}

/** Uses a running server, on which this process may create databases. */
export async function useTestPostgres(url: string): Promise<void> {
  process.env[ADDRESS] = url;
  await makeTemplate();
}

const MEMORY_FOLDER = '/dev/shm';
const ENOUGH_BYTES = 4 * 1024 ** 3;

/**
 * Returns a folder in memory, if it has room. Making and removing a database takes 0.1 s there, and seconds on a busy
 * disk.
 */
async function memoryFolder(): Promise<string> {
  const room = await statfs(MEMORY_FOLDER).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  );
  return room >= ENOUGH_BYTES ? MEMORY_FOLDER : tmpdir();
}

async function makeTemplate(): Promise<void> {
  await administer(`create database ${TEMPLATE}`);
  const url = urlOf(TEMPLATE);
  const db = createDatabase({ url, name: 'test-template', poolSize: 1 });
  await migrate(db, url);
  await db.destroy();
  await migrateQueues(url);
}

export async function mochaGlobalTeardown(): Promise<void> {
  await run?.postgres.stop();
  if (run) await rm(run.dataDir, { recursive: true, force: true });
}

/** Returns the id of the server's process. After a kill, PostgreSQL is started again. */
export function testPostgresPid(): number {
  if (!run) throw new Error('the test PostgreSQL is not running');
  return run.postgres.pid();
}

export interface TestDatabase {
  url: string;
  db: Db;
  drop(): Promise<void>;
}

/** Creates a migrated database (our tables and BullMQ's). Call it in `before`, and `drop` in `after`. */
export function createTestDatabase(): Promise<TestDatabase> {
  return create(`template ${TEMPLATE} strategy file_copy`);
}

/** Creates a migrated database before a suite's tests, and drops it after them. Use it in tests and hooks only. */
export function useTestDatabase(): Pick<TestDatabase, 'url' | 'db'> {
  let database: TestDatabase | undefined;
  before(async () => {
    database = await createTestDatabase();
  });
  after(() => database?.drop());
  const made = () => {
    if (!database) throw new Error('the test database is used before the hook that makes it has run');
    return database;
  };
  return {
    get url() {
      return made().url;
    },
    get db() {
      return made().db;
    },
  };
}

/** Lets other users open the server's socket. They still need the password. */
export async function openTestPostgres(): Promise<void> {
  const folder = new URL(urlOf('postgres')).searchParams.get('host');
  if (folder === null) return;
  await chmod(folder, 0o711);
  for (const name of await readdir(folder))
    if (name.startsWith('.s.') && !name.endsWith('.lock')) await chmod(join(folder, name), 0o777);
}

export function createEmptyDatabase(): Promise<TestDatabase> {
  return create('');
}

async function create(clause: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administer(`create database ${name} ${clause}`);
  const url = urlOf(name);
  // Longer than in production, because a test may pause in a transaction on a busy machine.
  const db = createDatabase({ url, name: 'test', idleInTransactionMs: 120_000 });
  return {
    url,
    db,
    async drop() {
      await db.destroy();
      await administer(`drop database ${name} with (force)`);
    },
  };
}

function urlOf(database: string): string {
  const server = process.env[ADDRESS];
  if (server === undefined) throw new Error('the test PostgreSQL is not running: run the tests through mocha');
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}

async function administer(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: urlOf('postgres') });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
