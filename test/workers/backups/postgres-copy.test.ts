import { randomBytes } from 'node:crypto';
import { cp, mkdir, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type pg from 'pg';
import { createLogger } from '../../../shared/core/log.js';
import { newArchiveKey } from '../../../workers/backups/archive-cipher.js';
import { ArchiveWriter, type Manifest } from '../../../workers/backups/backup-archive.js';
import { checkPostgres } from '../../../workers/backups/postgres-check.js';
import { copyPostgres, type PostgresFacts } from '../../../workers/backups/postgres-source.js';
import { unpackArchive } from '../../../workers/backups/read-archive.js';
import { DATA } from '../../../workers/data/data-host.js';
import { createSandbox } from '../../../workers/sandbox/create-sandbox.js';
import type { Sandbox } from '../../../workers/sandbox/sandbox.js';
import { startPostgresServer, type TestPostgres } from '../../support/data-servers.js';

const KEY = newArchiveKey();
const SEALED = Buffer.from('a sealed key');
const NEVER = new AbortController().signal;
const FIRST_ROWS = 20_000;
/** Above this number, each writer adds single rows. */
const MANY_ROWS = 60_000;
const PAUSE_MS = 5;

describe('The copy of a PostgreSQL', function () {
  this.timeout(240_000);
  let server: TestPostgres;
  let dataDir: string;
  let sandbox: Sandbox;
  let manifest: Manifest;
  /** Rows that the server confirmed before the copy was complete. */
  let acknowledged = 0;
  /** The file of an index in the copy. The test later truncates the table, which moves the index to another file. */
  let indexFile: string;
  let checks = 0;

  before(async () => {
    server = await startPostgresServer();
    dataDir = await mkdtemp(join(tmpdir(), 'ranvier-checks-'));
    sandbox = await createSandbox({ log: createLogger('test', 'error'), dataDir });
    const client = await server.connect();
    await client.query('create database shop');
    await client.end();
    const shop = await server.connect('shop');
    await shop.query('create table orders (id bigserial primary key, body text, made timestamptz default now())');
    await shop.query('create index on orders (made)');
    await shop.query(
      `insert into orders (body) select repeat(md5(n::text), 30) from generate_series(1, ${FIRST_ROWS}) n`,
    );
    const { rows } = await shop.query(`select pg_relation_filepath('orders_pkey') as path`);
    indexFile = rows[0].path;
    await shop.end();
    let archive: Buffer;
    ({ archive, acknowledged } = await copyUnderLoad());
    await mkdir(join(dataDir, 'unpacked'), { mode: 0o700 });
    manifest = await unpackArchive(Readable.from([archive]), KEY, join(dataDir, 'unpacked'), NEVER);
  });
  after(async () => {
    await server?.stop();
    if (dataDir) await rm(dataDir, { recursive: true, force: true });
  });

  async function copyUnderLoad(dataFolder: string | null = server.dataFolder) {
    const writing = { on: true, rows: FIRST_ROWS };
    const clients = await Promise.all([1, 2, 3, 4].map(() => server.connect('shop')));
    const write = async (client: pg.Client) => {
      while (writing.on) {
        // On a busy machine, the data must not grow faster than the copy reads it.
        const rows = writing.rows < MANY_ROWS ? 200 : 1;
        await client.query(
          `insert into orders (body) select repeat(md5(random()::text), 30) from generate_series(1, ${rows})`,
        );
        writing.rows += rows;
        await delay(PAUSE_MS);
      }
    };
    const writers = clients.map(write);
    const writer = new ArchiveWriter();
    const content = buffer(writer.stream(KEY, SEALED));
    const before = writing.rows;
    const facts = await copyPostgres({ ...server, dataFolder }, writer, 'test-1', NEVER);
    await writer.finish(about({ ...facts }));
    writing.on = false;
    await Promise.all(writers);
    await Promise.all(clients.map((client) => client.end()));
    return { archive: await content, acknowledged: before };
  }

  async function unpacked(): Promise<{ folder: string; manifest: Manifest }> {
    const folder = join(dataDir, `check-${++checks}`);
    await mkdir(folder, { mode: 0o700 });
    await cp(join(dataDir, 'unpacked'), join(folder, DATA), { recursive: true });
    return { folder, manifest };
  }

  const check = ({ folder, manifest }: { folder: string; manifest: Manifest }) =>
    checkPostgres(
      {
        id: `backup-check-${process.pid}-${checks}`,
        sandbox,
        folder,
        userNumber: 7,
        limits: { memoryMb: 1024, cpu: 2, pids: 100 },
        tools: [server.installation],
        limitMs: 120_000,
        signal: NEVER,
      },
      manifest,
      { durable: false },
    );
  const problem = async (work: Promise<unknown>) =>
    work.then(
      () => 'no problem',
      (error: Error) => error.message,
    );

  it('is whole although four clients write meanwhile, and holds every row that was there when it ended', async () => {
    const copy = await unpacked();
    const figures = await check(copy);
    expect(figures.databases).to.equal(3);
    expect(figures.tables).to.equal(1);
    expect(figures.rows).to.be.at.least(acknowledged);
    expect(figures.indexes).to.be.greaterThan(100);
    expect((copy.manifest.facts as unknown as PostgresFacts).segments.length).to.be.greaterThan(0);
    // The server of the check has ended in order, so its data can serve.
    expect(await readFile(join(copy.folder, DATA, 'PG_VERSION'), 'utf8')).to.match(/^\d+/);
  });

  it('is whole if the server itself reads its files out', async () => {
    // On a busy machine, the writers of the previous copy may have written a lot.
    const shop = await server.connect('shop');
    await shop.query('truncate orders');
    await shop.query(
      `insert into orders (body) select repeat(md5(n::text), 30) from generate_series(1, ${FIRST_ROWS}) n`,
    );
    await shop.end();
    const copy = await copyUnderLoad(null);
    const folder = join(dataDir, `check-${++checks}`);
    await mkdir(join(folder, DATA), { recursive: true, mode: 0o700 });
    const found = await unpackArchive(Readable.from([copy.archive]), KEY, join(folder, DATA), NEVER);
    const figures = await check({ folder, manifest: found });
    expect(figures).to.include({ databases: 3, tables: 1 });
    expect(figures.rows).to.be.at.least(copy.acknowledged);
    expect(found.folders).to.include.members(manifest.folders);
  });

  it('is refused without its label, which would open and have lost rows', async () => {
    const copy = await unpacked();
    await rm(join(copy.folder, DATA, 'backup_label'));
    expect(await problem(check(copy))).to.contain('backup_label is missing');
  });

  it('is refused without one of its segments', async () => {
    const copy = await unpacked();
    const [segment] = (copy.manifest.facts as unknown as PostgresFacts).segments;
    await rm(join(copy.folder, DATA, 'pg_wal', segment ?? ''));
    expect(await problem(check(copy))).to.contain(`pg_wal/${segment} is missing`);
  });

  it('is refused if a page is damaged', async () => {
    const copy = await unpacked();
    const file = await open(join(copy.folder, DATA, indexFile), 'r+');
    await file.write(randomBytes(64), 0, 64, 8192 + 4000);
    await file.close();
    expect(await problem(check(copy))).to.match(/the copy of the database shop is damaged|invalid page/);
  });

  it('ends at once if it is aborted, and leaves no slot behind', async () => {
    const abort = new AbortController();
    const writer = new ArchiveWriter();
    const stream = writer.stream(KEY, SEALED);
    stream.once('data', () => abort.abort(new Error('enough')));
    expect(await problem(copyPostgres(server, writer, 'test-2', abort.signal))).to.not.equal('no problem');
    writer.fail(new Error('enough'));
    const client = await server.connect();
    const { rows } = await client.query('select count(*)::int as slots from pg_replication_slots');
    await client.end();
    expect(rows[0].slots).to.equal(0);
  });

  function about(facts: Record<string, unknown>): Omit<Manifest, 'format' | 'folders' | 'files'> {
    return {
      kind: 'postgres',
      version: '18',
      serviceId: 's',
      backupId: 'b',
      createdAt: new Date().toISOString(),
      facts,
    };
  }
});
