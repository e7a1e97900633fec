import { readdir } from 'node:fs/promises';
import { expect } from 'chai';
import { visit } from '../support/client.js';
import {
  act,
  createService,
  deploy,
  ended,
  operationEnded,
  queueDeploy,
  readLogs,
  readService,
  type Service,
} from '../support/deployments.js';
import { type DockerNode, NODE_IMAGE } from '../support/docker.js';
import { eventually } from '../support/processes.js';
import { createPlatformRepository, type TestRepository } from '../support/repositories.js';
import type { SwarmPlatform } from '../support/swarm-platform.js';
import { vendor } from '../support/vendored.js';

/** Migrates before each release, counts in PostgreSQL and in Redis, and answers with both counts. */
const APP = {
  'migrations/1_visits.js': `
    exports.up = (knex) => knex.schema.createTable('visits', (table) => { table.increments(); table.text('word').notNullable(); });
    exports.down = () => undefined;`,
  'migrate.js': `
    const knex = require('knex')({ client: 'pg', connection: process.env.DATABASE_URL });
    knex.migrate.latest({ directory: './migrations' }).then(([, made]) => {
      console.log('made ' + made.length + ' migrations');
      return knex.destroy();
    });`,
  'server.js': `
    const { createServer } = require('node:http');
    const { Pool } = require('pg');
    const { Redis } = require('ioredis');
    const pool = new Pool({ connectionString: process.env.DATABASE_URL, connectionTimeoutMillis: 3000 });
    pool.on('error', () => {});
    const redis = new Redis(process.env.REDIS_URL, { maxRetriesPerRequest: 1 });
    redis.on('error', () => {});
    const ways = {
      '/count': async () => { await pool.query("insert into visits (word) values ('hello')"); await redis.incr('visits'); },
      '/destroy': async () => { await pool.query('drop table visits'); await redis.flushall(); },
    };
    createServer(async (request, response) => {
      try {
        await ways[request.url]?.();
        if (request.url === '/destroy') return response.end('{}');
        const { rows } = await pool.query(\`select count(*)::int as postgres, current_setting('max_connections') as sessions,
          (select rolsuper from pg_roles where rolname = current_user) as super from visits\`);
        response.end(JSON.stringify({ ...rows[0], redis: Number(await redis.get('visits')) }));
      } catch (error) {
        response.writeHead(500).end(String(error));
      }
    }).listen(process.env.PORT);`,
  Dockerfile: `FROM ${NODE_IMAGE}\nCOPY . .\nCMD ["node", "server.js"]\n`,
};

interface Counts {
  postgres: number;
  redis: number;
  sessions: string;
  super: boolean;
}

/** Defines tests of databases on the second node of a swarm, on the platform of the swarm's tests. */
export function swarmDatabases(given: () => { swarm: SwarmPlatform; second: DockerNode }): void {
  let swarm: SwarmPlatform;
  let second: DockerNode;
  let repository: TestRepository;
  let place: { projectId: string; environmentId: string };
  let database: Service;
  let store: Service;
  let app: Service;
  let count = 0;

  before(async () => {
    ({ swarm, second } = given());
    repository = await createPlatformRepository(APP);
    await vendor(repository, ['knex', 'pg', 'ioredis']);
  });
  after(() => repository?.remove());

  const client = () => swarm.platform.client;
  const create = (name: string, kind: string, configuration: object) =>
    createService(client(), { name, kind, ...place, configuration });
  const refer = (key: string, to: Service) =>
    client().expect('POST', `/services/${app.id}/variables`, { key, reference: { serviceId: to.id, key: 'URL' } });
  const counts = async (path = '/') => {
    const { status, body } = await visit(app.url, swarm.platform.edgePort, path);
    if (status !== 200) throw new Error(`${status} ${body}`);
    return JSON.parse(body) as Counts;
  };
  const countsOn = async () => {
    const answer = await eventually('the application reaches its databases', () => counts('/count'), 90_000);
    expect(answer.postgres).to.be.greaterThan(count);
    expect(answer.redis).to.be.greaterThan(count);
    count = Math.min(answer.postgres, answer.redis);
  };
  const health = async ({ id }: Service) => {
    const { healthStatus, runtimeDetail } = await readService(client(), id);
    return `${healthStatus}: ${runtimeDetail}`;
  };
  const healthBecomes = (service: Service, wanted: RegExp) =>
    eventually(
      `${service.name} is ${wanted}`,
      async () => {
        const now = await health(service);
        if (!wanted.test(now)) throw new Error(now);
        return true;
      },
      120_000,
    );
  const containersOf = async ({ id }: Service) =>
    second.docker.listContainers({ filters: { label: [`ranvier.service=${id}`] } });
  const setManager = async (availability: 'active' | 'pause') => {
    const { docker, name } = swarm.manager;
    const { ID, Version, Spec } = await swarm.manager.swarmNode(name);
    await docker.getNode(ID).update({ ...Spec, version: Version.Index, Availability: availability });
  };
  const backUp = async ({ id }: Service) => {
    const { backup } = await client().expect<{ backup: { id: string } }>('POST', `/services/${id}/backups`, {});
    await eventually(
      'the backup succeeds',
      async () => {
        const { backup: now } = await client().expect<{ backup: { status: string; error: string } }>(
          'GET',
          `/services/${id}/backups/${backup.id}`,
        );
        if (now.status === 'failed') return Promise.reject(new Error(now.error));
        return now.status === 'succeeded';
      },
      120_000,
    );
    return backup.id;
  };
  const restore = async (service: Service, backupId: string) => {
    const { operation } = await client().expect<{ operation: { id: string } }>(
      'POST',
      `/services/${service.id}/backups/${backupId}/restore`,
      { confirm: service.name },
    );
    const status = await operationEnded(client(), service.id, operation.id);
    const said = (await readLogs(client(), service.id)).map(({ message }) => message).join('\n');
    expect(status, said).to.equal('succeeded');
  };

  it('are provisioned on a node, which the API names, and reached by reference over the network of their environment', async () => {
    const { project } = await client().expect<{ project: { id: string; environments: { id: string }[] } }>(
      'POST',
      '/projects',
      { name: 'Shop', color: 'violet' },
    );
    place = { projectId: project.id, environmentId: project.environments[0]?.id ?? '' };
    database = await create('orders', 'postgres', { databaseVersion: '18', databaseUser: 'clerk' });
    store = await create('cache', 'redis', {});
    await setManager('pause');
    await Promise.all([deploy(client(), database.id), deploy(client(), store.id)]);
    await setManager('active');
    for (const { id } of [database, store]) {
      expect(await readService(client(), id)).to.include({
        status: 'live',
        healthStatus: 'ready',
        volumeHost: second.name,
      });
    }
    app = await create('counter', 'web', {
      repository: repository.url,
      buildMethod: 'dockerfile',
      preDeployCommand: 'node migrate.js',
    });
    await refer('DATABASE_URL', database);
    await refer('REDIS_URL', store);
    await deploy(client(), app.id);
    app = await readService(client(), app.id);
    await countsOn();
    expect(await counts()).to.include({ sessions: '25', super: false });
    expect((await readLogs(client(), app.id)).map(({ message }) => message)).to.include('made 1 migrations');
  });

  it('lose nothing when their containers or all workers are killed', async () => {
    for (const service of [database, store]) {
      const [before] = await containersOf(service);
      await second.docker.getContainer(before?.Id ?? '').kill({ signal: 'SIGKILL' });
      await eventually(
        'another container runs',
        async () => {
          const [now] = await containersOf(service);
          return now !== undefined && now.Id !== before?.Id;
        },
        60_000,
      );
    }
    await Promise.all(swarm.platform.workers.map((worker) => worker.stop('SIGKILL')));
    await countsOn();
    await Promise.all([swarm.startWorker(0), swarm.startWorker(1)]);
    for (const service of [database, store]) await healthBecomes(service, /^ready/);
    await countsOn();
  });

  it('come back from their backups after their data was destroyed', async () => {
    // A request that failed may have counted in only one of the two databases.
    const { postgres, redis } = await counts();
    const [rows, keys] = await Promise.all([backUp(database), backUp(store)]);
    const said = (await readLogs(client(), database.id)).map(({ message }) => message).join('\n');
    expect(said).to.match(/Backup \S+ succeeded: .* B-trees verified/);
    await counts('/destroy');
    expect((await visit(app.url, swarm.platform.edgePort)).status).to.equal(500);
    await restore(database, rows);
    await restore(store, keys);
    const found = await eventually('the application finds its data', () => counts(), 90_000);
    expect(found).to.include({ postgres, redis });
    await countsOn();
  });

  it('keep their data while they are suspended, and through a change of plan', async () => {
    expect(await Promise.all([database, store].map(({ id }) => act(client(), id, 'suspend')))).to.deep.equal([
      'succeeded',
      'succeeded',
    ]);
    await eventually('their containers have ended', async () => {
      const left = (await Promise.all([database, store].map(containersOf))).flat();
      if (left.length > 0) throw new Error(left.map(({ Names }) => Names.join()).join(' '));
      return true;
    });
    await client().expect('PATCH', `/services/${database.id}`, { configuration: { plan: 'starter' } });
    expect(await Promise.all([database, store].map(({ id }) => act(client(), id, 'resume')))).to.deep.equal([
      'succeeded',
      'succeeded',
    ]);
    const { id } = await queueDeploy(client(), database.id);
    expect((await ended(client(), database.id, id)).error).to.equal('');
    await countsOn();
    expect(await counts()).to.include({ sessions: '65' });
  });

  it('are unhealthy with the reason while their node is away, and run nowhere else', async () => {
    await swarm.cut(second);
    for (const service of [database, store]) {
      await healthBecomes(service, new RegExp(`^unhealthy: .*${second.name}.* has its volume`));
    }
    const elsewhere = await swarm.manager.docker.listVolumes();
    expect((elsewhere.Volumes ?? []).map(({ Name }) => Name)).to.not.include(`ranvier-${database.id}`);
    await swarm.boot(second);
    for (const service of [database, store]) await healthBecomes(service, /^ready/);
    await countsOn();
  });

  it('take their data with them when they are deleted', async () => {
    const { Volumes = [] } = await second.docker.listVolumes();
    const folders = [database, store].map(
      ({ id }) => Volumes.find(({ Name }) => Name === `ranvier-${id}`)?.Mountpoint ?? '',
    );
    for (const folder of folders) expect(await readdir(folder)).to.include('ranvier.json');
    for (const service of [app, database, store]) {
      const { operation } = await client().expect<{ operation: { id: string } }>('DELETE', `/services/${service.id}`, {
        confirm: service.name,
      });
      expect(await operationEnded(client(), service.id, operation.id)).to.equal('succeeded');
    }
    for (const folder of folders) {
      await eventually('the volume is empty', async () => (await readdir(folder)).length === 0, 90_000);
    }
    await eventually(
      'their records are gone',
      async () => (await swarm.platform.database.db('data_servers')).length === 0,
      90_000,
    );
  });
}
