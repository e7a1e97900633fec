import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { waitingEdges } from '../../../shared/routing/store.js';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../../support/postgres.js';
import { eventually } from '../../support/processes.js';
import { Records } from './records.js';
import { ask, Bench } from './support.js';

const MAIN = fileURLToPath(new URL('../../../programs/edge.js', import.meta.url));

interface EdgeProcess {
  child: ChildProcess;
  port: number;
  output: () => string;
}

describe('edge process', () => {
  let database: TestDatabase;
  let records: Records;
  const bench = new Bench();
  const children: ChildProcess[] = [];

  before(async () => {
    database = await createTestDatabase();
    records = new Records(database.db);
    await records.workspace();
  });
  after(async () => {
    await bench.close();
    await database.drop();
  });
  afterEach(async () => {
    for (const child of children.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });

  async function startProcess(databaseUrl: string): Promise<EdgeProcess> {
    const port = await freePort();
    const child = spawn(process.execPath, [MAIN], {
      env: {
        PATH: process.env.PATH,
        DATABASE_URL: databaseUrl,
        SECRETS_KEY: Buffer.alloc(32).toString('base64'),
        EDGE_PORT: String(port),
        EDGE_DOMAIN: 'sites.test',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(child);
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    return { child, port, output: () => output };
  }

  it('serves, outlives the loss of its connections to PostgreSQL, and ends in order', async () => {
    const one = await bench.replica((_req, res) => res.end('one'));
    const two = await bench.replica((_req, res) => res.end('two'));
    const service = await records.service();
    const host = `${service.slug}.sites.test`;
    const first = await records.release(service, [one]);
    const { child, port, output } = await startProcess(database.url);
    await eventually('the edge listens', () => output().includes('the edge is listening'));
    expect((await ask(port, '/', { host })).text).to.equal('one');
    expect(await waitingEdges(database.db, service.id, first)).to.equal(0);

    await database.db.raw(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    );
    expect((await ask(port, '/', { host })).text).to.equal('one');
    const second = await records.release(service, [two]);
    await eventually('it follows again', async () => (await waitingEdges(database.db, service.id, second)) === 0);
    expect((await ask(port, '/', { host })).text).to.equal('two');

    child.kill('SIGTERM');
    const [code] = await once(child, 'exit');
    expect(code, output()).to.equal(0);
    expect(await database.db('edges').where({ pid: child.pid })).to.deep.equal([]);
  });

  it('names the command to run if the database is not migrated, and ends', async () => {
    const empty = await createEmptyDatabase();
    try {
      const { child, output } = await startProcess(empty.url);
      const [code] = await once(child, 'exit');
      expect(code).to.equal(1);
      expect(output()).to.include('npm run migrate');
    } finally {
      await empty.drop();
    }
  });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return address.port;
}
