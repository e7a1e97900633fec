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

/** One PostgreSQL for the whole test run, with a migrated template that each test file clones. */
const TEMPLATE = 'ranvier_template';

interface TestPostgresOptions {
  durable: boolean;
  onLine?: (line: string) => void;
}

interface Run {
  postgres: EmbeddedPostgres;
  dataDir: string;
}
let run: Run | null = null;
/** Tells processes that this one starts where the server is. */
const ADDRESS = 'TEST_POSTGRES_URL';

/** Mocha calls this once, before the first test. A process that started this one may have started the server. */
export async function mochaGlobalSetup(): Promise<void> {
  if (process.env[ADDRESS] === undefined) await startTestPostgres({ durable: false });
}

/**
 * `durable`: what was committed outlives a crash of the server, for those who cause one. `onLine` is called for each line that
 * the server writes to its log.
 */
export async function startTestPostgres({ durable, onLine }: TestPostgresOptions): Promise<void> {
  const dataDir = await mkdtemp(join(durable ? tmpdir() : await memoryFolder(), 'ranvier-test-'));
  await chmod(dataDir, 0o711);
  const log = createLogger('test', 'error');
  if (onLine) log.debug = (line: unknown) => onLine(String((line as { postgres?: unknown }).postgres));
  const postgres = await startPostgres({ dataDir, log, durable });
  run = { postgres, dataDir };
  process.env[ADDRESS] = postgres.url;
  try {
    await makeTemplate();
  } catch (error) {
    // Mocha would wait for the server of a setup that failed.
    await mochaGlobalTeardown();
    throw error;
  }
}

const MEMORY_FOLDER = '/dev/shm';
const ENOUGH_BYTES = 4 * 1024 ** 3;

/**
 * Where files are kept in memory, if this machine has room for them there. A database has 400 files: to make and remove one costs
 * seconds on a busy disk and a tenth of a second in memory, and the suite makes 250.
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

/** Mocha calls this once, after the last test. */
export async function mochaGlobalTeardown(): Promise<void> {
  await run?.postgres.stop();
  if (run) await rm(run.dataDir, { recursive: true, force: true });
}

/** The server's process, for tests that strike it. It is started again by itself. */
export function testPostgresPid(): number {
  if (!run) throw new Error('the test PostgreSQL is not running');
  return run.postgres.pid();
}

export interface TestDatabase {
  url: string;
  db: Db;
  /** Closes `db` and removes the database, whoever is still connected. */
  drop(): Promise<void>;
}

/** A migrated database (ours and BullMQ's) of the caller's own; call it in `before`, and `drop` in `after`. */
export function createTestDatabase(): Promise<TestDatabase> {
  return create(`template ${TEMPLATE} strategy file_copy`);
}

/** A migrated database of a suite: made before its first test and removed after its last. Use it in tests and hooks only. */
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

/** Opens the socket of the test server to other users. They still need the password. */
export async function openTestPostgres(): Promise<void> {
  const folder = new URL(urlOf('postgres')).searchParams.get('host');
  if (folder === null) return;
  await chmod(folder, 0o711);
  for (const name of await readdir(folder))
    if (name.startsWith('.s.') && !name.endsWith('.lock')) await chmod(join(folder, name), 0o777);
}

/** A database without any table. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return create('');
}

async function create(clause: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administer(`create database ${name} ${clause}`);
  const url = urlOf(name);
  // On a busy machine a test may pause for longer than a process of the platform ever should.
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
