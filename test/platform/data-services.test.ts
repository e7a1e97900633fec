import { readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { exists } from '../../shared/core/exists.js';
import { holdServer, openDataServer } from '../../workers/data/server-access.js';
import { asAdmin } from '../../workers/data/settle-postgres.js';
import { markedProcesses } from '../../workers/sandbox/process-table.js';
import { visit } from '../support/client.js';
import { dataAccess } from '../support/data-access.js';
import {
  act,
  createService,
  deploy,
  ended,
  operationEnded,
  queueDeploy,
  readDeployment,
  readLogs,
  readService,
  type Service,
} from '../support/deployments.js';
import { type Platform, startPlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { hasRedis } from '../support/redis.js';
import type { TestRepository } from '../support/repositories.js';

/** Creates its table in a pre-deploy command, counts in both databases, and answers with both counts. */
const APP = {
  'package.json': JSON.stringify({
    name: 'counter',
    version: '1.0.0',
    private: true,
    type: 'module',
    scripts: { start: 'node server.js' },
    dependencies: { pg: '8.23.1', ioredis: '6.0.0' },
  }),
  'migrate.js': `
    import pg from 'pg';
    const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
    await client.connect();
    await client.query('create table if not exists visits (id serial primary key, word text not null)');
    await client.query('create extension if not exists pgcrypto');
    await client.end();
    console.log('the table is there');`,
  'server.js': `
    import { createServer } from 'node:http';
    import pg from 'pg';
    import Redis from 'ioredis';
    const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, connectionTimeoutMillis: 3000 });
    pool.on('error', () => {});
    const redis = new Redis(process.env.REDIS_URL, { maxRetriesPerRequest: 1 });
    redis.on('error', () => {});
    createServer(async (request, response) => {
      try {
        if (request.url === '/count') {
          await pool.query("insert into visits (word) values ('hello')");
          await redis.incr('visits');
        }
        const { rows } = await pool.query(\`select count(*)::int as postgres, current_user as user, current_database() as database,
          current_setting('max_connections') as sessions, split_part(version(), ' ', 2)::numeric::int::text as version,
          (select rolsuper from pg_roles where rolname = current_user) as super from visits\`);
        const policy = (await redis.config('GET', 'maxmemory-policy'))[1];
        response.end(JSON.stringify({ ...rows[0], redis: Number(await redis.get('visits')), policy }));
      } catch (error) {
        response.writeHead(500).end(String(error));
      }
    }).listen(process.env.PORT);`,
};

describe('Databases beside an application', function () {
  // Long, because a busy machine delays a whole platform.
  this.timeout(300_000);
  let platform: Platform;
  let repository: TestRepository;
  let place: { projectId: string; environmentId: string };
  let database: Service;
  let store: Service;
  let app: Service;
  let count = 0;

  before(async function () {
    if (!hasRedis) this.skip();
    platform = await startPlatform({
      engine: 'postgres',
      workers: 2,
      env: { STOP_GRACE_SECONDS: '5', HEALTH_REPLACE_SECONDS: '5' },
    });
    repository = await platform.repositoryOf(APP);
    const { project } = await platform.client.expect<{ project: { id: string; environments: { id: string }[] } }>(
      'POST',
      '/projects',
      { name: 'Shop', color: 'violet' },
    );
    place = { projectId: project.id, environmentId: project.environments[0]?.id ?? '' };
  });
  after(() => platform?.stop());

  const create = (name: string, kind: string, configuration: object = {}) =>
    createService(platform.client, { name, kind, ...place, configuration });
  const refer = (key: string, to: Service, what: string) =>
    platform.client.expect('POST', `/services/${app.id}/variables`, {
      key,
      reference: { serviceId: to.id, key: what },
    });
  const counts = async (path: string) => {
    const { status, body } = await visit(app.url, platform.edgePort, path);
    if (status !== 200) throw new Error(`${status} ${body}`);
    return JSON.parse(body) as { postgres: number; redis: number; super: boolean; sessions: string; policy: string };
  };
  const countsOn = async () => {
    const answer = await eventually('the application reaches its databases', () => counts('/count'));
    expect(answer.postgres).to.be.greaterThan(count);
    expect(answer.redis).to.be.greaterThan(count);
    count = Math.min(answer.postgres, answer.redis);
  };
  const ready = (service: Service) =>
    eventually(`${service.name} is ready`, async () => {
      const { healthStatus, runtimeDetail } = await readService(platform.client, service.id);
      if (healthStatus !== 'ready') throw new Error(`it is ${healthStatus}: ${runtimeDetail}`);
      return true;
    });
  const processesOf = async ({ id }: Service): Promise<{ pid: number; command: string }[]> => {
    const replicas = await platform.database.db('replicas').where({ service_id: id }).pluck('id');
    const marked = await markedProcesses(await platform.sandboxToken());
    const own = [...marked].filter(([, marker]) => replicas.some((replica: string) => marker.includes(replica)));
    return Promise.all(
      own.map(async ([pid]) => ({ pid, command: await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '') })),
    );
  };
  const server = async (service: Service) => {
    const found = (await processesOf(service)).find(({ command }) =>
      /^\S*(postgres\0-D|redis-server|valkey-server)/.test(command),
    );
    if (!found) throw new Error(`${service.name} has no server`);
    return found.pid;
  };
  const volumeOf = ({ id }: Service) => join(platform.dataDir, 'volumes', id);

  it('are deployed like every other service; an application that refers to them waits until they run', async () => {
    database = await create('orders', 'postgres', {
      databaseVersion: '18',
      databaseName: 'orders',
      databaseUser: 'clerk',
    });
    store = await create('cache', 'redis', { evictionPolicy: 'allkeys-lfu' });
    app = await create('counter', 'web', { repository: repository.url, preDeployCommand: 'node migrate.js' });
    await refer('DATABASE_URL', database, 'URL');
    await refer('REDIS_URL', store, 'URL');
    const waiting = await queueDeploy(platform.client, app.id);
    await eventually('the deployment says what it waits for', async () => {
      const { status, blockedReason } = await readDeployment(platform.client, app.id, waiting.id);
      expect(`${status}: ${blockedReason}`).to.match(
        /^queued: Waits for the database "(cache|orders)" .*: it does not run; deploy it$/,
      );
      return true;
    });
    await Promise.all([deploy(platform.client, database.id), deploy(platform.client, store.id)]);
    for (const { id } of [database, store]) {
      expect(await readService(platform.client, id)).to.include({ status: 'live', healthStatus: 'ready', url: '' });
    }
    const deployment = await ended(platform.client, app.id, waiting.id);
    expect(deployment.error).to.equal('');
    app = await readService(platform.client, app.id);
    await countsOn();
    // The log masks the passwords.
    expect((await readLogs(platform.client, app.id)).map(({ message }) => message)).to.include('the table is there');
  });

  it('have the names, the version and the settings of their configuration, and no superuser', async () => {
    const answer = await counts('/');
    expect(answer).to.deep.include({ super: false, sessions: '25', policy: 'allkeys-lfu' });
    expect(answer).to.deep.include({ version: '18', user: 'clerk', database: 'orders' });
  });

  it('lose nothing when the server is killed; it starts again', async () => {
    for (const service of [database, store]) {
      const before = await server(service);
      process.kill(before, 'SIGKILL');
      await eventually('another server runs', async () => (await server(service)) !== before);
      await ready(service);
    }
    await countsOn();
  });

  it('run on when the workers are killed, and are adopted', async () => {
    const before = [await server(database), await server(store)];
    const workers = platform.workers;
    await Promise.all(workers.map((worker) => worker.stop('SIGKILL')));
    await countsOn();
    await Promise.all([platform.startWorker(), platform.startWorker()]);
    expect([await server(database), await server(store)]).to.deep.equal(before);
    await countsOn();
  });

  it('keep their data while they are suspended, and through a change of plan', async () => {
    for (const service of [database, store])
      expect(await act(platform.client, service.id, 'suspend')).to.equal('succeeded');
    expect(await processesOf(database)).to.deep.equal([]);
    expect(await processesOf(store)).to.deep.equal([]);
    for (const service of [database, store])
      expect(await act(platform.client, service.id, 'resume')).to.equal('succeeded');
    await countsOn();
    await platform.client.expect('PATCH', `/services/${database.id}`, { configuration: { plan: 'starter' } });
    await deploy(platform.client, database.id);
    await countsOn();
    expect(await counts('/')).to.include({ sessions: '65' });
    expect(await act(platform.client, database.id, 'restart')).to.equal('succeeded');
    await countsOn();
  });

  it('are stopped while somebody works on their volume, and run again afterwards', async () => {
    const access = await dataAccess(platform);
    try {
      const opened = await openDataServer(access, database.id);
      expect(opened).to.include({ kind: 'postgres', version: '18', dataFolder: join(volumeOf(database), 'data') });
      const superuser = await asAdmin(opened.admin, async (client) => (await client.query('show is_superuser')).rows);
      expect(superuser).to.deep.equal([{ is_superuser: 'on' }]);
      for (const service of [database, store]) {
        await holdServer(access, service.id, async () => {
          expect(await processesOf(service)).to.deep.equal([]);
          const second = await holdServer(access, service.id, async () => undefined).catch(String);
          expect(second).to.include('somebody else works on its volume');
        });
      }
    } finally {
      await access.close();
    }
    await countsOn();
  });

  it('are ended and started again if they hang', async () => {
    const hung = await server(database);
    process.kill(hung, 'SIGSTOP');
    await eventually('another server runs', async () => (await server(database)) !== hung);
    await ready(database);
    await countsOn();
  });

  it('refuse what their data does not allow, and to be deleted while somebody refers to them', async () => {
    const change = async (configuration: object) => {
      const { status, body } = await platform.client.call<{ error: { message: string } }>(
        'PATCH',
        `/services/${database.id}`,
        {
          configuration,
        },
      );
      return `${status} ${body.error?.message}`;
    };
    expect(await change({ databaseVersion: '17' })).to.match(/^409 The data was written by PostgreSQL 18, .*pg_dump/);
    expect(await change({ databaseName: 'other' })).to.match(/^409 The database is called "orders"/);
    expect(await change({ databaseUser: 'pg_other' })).to.match(/^400 /);
    const refused = await platform.client.call<{ error: { message: string } }>('DELETE', `/services/${database.id}`, {
      confirm: 'orders',
    });
    expect(refused.status).to.equal(409);
    expect(refused.body.error.message).to.include('"counter"');
  });

  it('are unhealthy with the reason if their volume is not theirs, and are never made anew', async () => {
    const marker = join(volumeOf(database), 'ranvier.json');
    await rename(marker, `${marker}.away`);
    process.kill(await server(database), 'SIGKILL');
    await eventually('the database says why it does not start', async () => {
      const { healthStatus, runtimeDetail } = await readService(platform.client, database.id);
      expect(`${healthStatus}: ${runtimeDetail}`).to.match(/^unhealthy: .*its volume has no marker/);
      return true;
    });
    expect(await processesOf(database)).to.deep.equal([]);
    await rename(`${marker}.away`, marker);
    await ready(database);
    await countsOn();
  });

  it('take their volume with them when they are deleted', async () => {
    for (const service of [app, database, store]) {
      const { operation } = await platform.client.expect<{ operation: { id: string } }>(
        'DELETE',
        `/services/${service.id}`,
        {
          confirm: service.name,
        },
      );
      expect(await operationEnded(platform.client, service.id, operation.id)).to.equal('succeeded');
    }
    for (const service of [database, store]) expect(await exists(volumeOf(service))).to.equal(false);
    expect(await platform.database.db('data_servers')).to.deep.equal([]);
  });
});
