import { expect } from 'chai';
import { addMember, createKey, createWorkspace } from '../../shared/identity/commands.js';
import { makeService, makeUser } from '../support/factories.js';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually, freePorts, PlatformProcess } from '../support/processes.js';

const SECRETS_KEY = Buffer.alloc(32, 1).toString('base64');

describe('The API process', () => {
  let database: TestDatabase;
  const started: PlatformProcess[] = [];

  before(async () => {
    database = await createTestDatabase();
  });
  afterEach(async () => {
    await Promise.all(started.splice(0).map((process) => process.stop('SIGKILL')));
  });
  after(() => database.drop());

  function start(env: Record<string, string>): PlatformProcess {
    const PATH = process.env.PATH ?? '';
    const api = new PlatformProcess('api', process.execPath, ['dist/programs/api.js'], { PATH, ...env });
    started.push(api);
    return api;
  }

  async function ended(api: PlatformProcess): Promise<number | null> {
    await eventually('the process ends', () => api.ended);
    return api.child.exitCode;
  }

  it('names every problem of its configuration and ends with 1', async () => {
    const api = start({ PORT: 'ninety', RUNTIME: 'cloud', PUBLIC_URL: 'nowhere' });
    expect(await ended(api)).to.equal(1);
    for (const name of ['DATABASE_URL', 'SECRETS_KEY', 'PORT', 'RUNTIME', 'PUBLIC_URL'])
      expect(api.output).to.contain(name);
    expect(api.output).to.not.match(/\n\s+at /);
  });

  it('on an unmigrated database says what to run and ends with 1', async () => {
    const empty = await createEmptyDatabase();
    try {
      const api = start({ DATABASE_URL: empty.url, SECRETS_KEY });
      expect(await ended(api)).to.equal(1);
      expect(api.output).to.contain('npm run migrate');
    } finally {
      await empty.drop();
    }
  });

  it('on a port that is taken says so and ends with 1', async () => {
    const [port = 0] = await freePorts(1);
    const env = { DATABASE_URL: database.url, SECRETS_KEY, PORT: String(port) };
    const first = start(env);
    await first.ready(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok);
    const second = start(env);
    expect(await ended(second)).to.equal(1);
    expect(second.output).to.contain('EADDRINUSE');
    await first.stop();
    expect(first.child.exitCode).to.equal(0);
  });

  it('at SIGTERM accepts nothing more, finishes what is in flight and ends with 0', async () => {
    const { db } = database;
    const email = 'drain@example.com';
    const { workspace } = await db.transaction((trx) =>
      createWorkspace(trx, { name: 'Drain', owner: 'a@example.com' }),
    );
    await makeUser(db, { email, verified: true });
    await db.transaction((trx) => addMember(trx, { workspaceId: workspace.id, email, role: 'developer' }));
    const { key } = await createKey(db, {
      workspaceId: workspace.id,
      email,
      scope: 'write',
      name: 'k',
      expiresAt: null,
    });
    const service = await makeService(db, workspace);

    const [port = 0] = await freePorts(1);
    const api = start({ DATABASE_URL: database.url, SECRETS_KEY, PORT: String(port) });
    const url = `http://127.0.0.1:${port}`;
    await api.ready(async () => (await fetch(`${url}/readyz`)).ok);

    const holder = await db.transaction();
    await holder('services').where({ id: service.id }).forUpdate().first();
    const inFlight = fetch(`${url}/api/v1/workspaces/${workspace.id}/services/${service.id}`, {
      method: 'PATCH',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: '{"configuration":{"port":1234}}',
    });
    await eventually('the request waits for the lock', async () => {
      const { rows } = await db.raw(
        `select 1 from pg_stat_activity where application_name = 'ranvier-api' and wait_event_type = 'Lock'`,
      );
      return rows.length > 0;
    });
    api.kill('SIGTERM');
    await eventually('new connections are refused', () =>
      fetch(`${url}/healthz`).then(
        () => false,
        () => true,
      ),
    );
    expect(api.ended).to.equal(false);
    await holder.rollback();
    const response = await inFlight;
    expect(response.status).to.equal(200);
    expect(await ended(api)).to.equal(0);
  });
});
