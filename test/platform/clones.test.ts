import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Json } from '../support/api.js';
import { createService, deploy, ended, operationEnded, type Service } from '../support/deployments.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { runSql } from './database-session.js';

const SERVER = {
  Procfile: 'web: exec node server.js\n',
  'server.js': `
const fs = require('node:fs');
fs.appendFileSync('/data/starts', 'start\\n');
require('node:http').createServer((request, response) => {
  if (request.url === '/write') fs.writeFileSync('/data/note', 'kept');
  const note = fs.existsSync('/data/note') ? fs.readFileSync('/data/note', 'utf8') : 'none';
  const starts = fs.readFileSync('/data/starts', 'utf8').split('\\n').length - 1;
  response.end(JSON.stringify({ note, starts, user: new URL(process.env.DB).username }));
}).listen(process.env.PORT);
process.on('SIGTERM', () => process.exit(0));
`,
};

describe('A clone with data', function () {
  this.timeout(300_000);
  let platform: Platform;
  let project: Json;
  let at: { projectId: string; environmentId: string };
  let database: Service;

  usePlatform({ engine: 'postgres', workers: 2, env: { STOP_GRACE_SECONDS: '2' } }, async (started) => {
    platform = started;
    ({ project } = await platform.client.expect<Json>('POST', '/projects', { name: 'Shop', color: 'blue' }));
    at = { projectId: project.id, environmentId: project.environments[0].id };
    database = await createService(platform.client, {
      ...{ name: 'db', kind: 'postgres', ...at, configuration: { plan: 'starter' } },
    });
    await deploy(platform.client, database.id);
    await runSql(platform, database, `create table orders as select n as id from generate_series(1, 1000) n`);
  });

  async function back({ id }: Service): Promise<string> {
    const { backup } = await platform.client.expect<Json>('POST', `/services/${id}/backups`, {});
    await eventually(
      'the backup succeeds',
      async () => {
        const { backup: now } = await platform.client.expect<Json>('GET', `/services/${id}/backups/${backup.id}`);
        if (now.status === 'failed') throw new Error(now.error);
        return now.status === 'succeeded';
      },
      120_000,
    );
    return backup.id;
  }
  const clone = (body: object) => platform.client.call('POST', `/projects/${project.id}/environments`, body);
  const copyOf = async (environmentId: string, name: string): Promise<Service> => {
    const { services } = await platform.client.expect<Json>('GET', '/services');
    return services.find((each: Json) => each.environmentId === environmentId && each.name === name);
  };
  const rows = async (service: Pick<Service, 'id'>) =>
    (await runSql(platform, service, 'select count(*)::int as n from orders'))[0];

  it('has the rows and files of the latest backups before anything uses them, although the workers are killed', async () => {
    const repository = await platform.repositoryOf(SERVER);
    const web = await createService(platform.client, {
      ...{ name: 'web', ...at, configuration: { repository: repository.url, plan: 'starter' } },
    });
    await platform.client.expect('POST', `/services/${web.id}/volumes`, {
      ...{ name: 'data', mountPath: '/data', sizeGb: 1 },
    });
    await platform.client.expect('POST', `/services/${web.id}/variables`, {
      ...{ key: 'DB', reference: { serviceId: database.id, key: 'URL' } },
    });
    await deploy(platform.client, web.id);
    await platform.visit(web, '/write');
    const body = { name: 'Staging', cloneFrom: at.environmentId, data: 'latestBackup', deploy: true };
    const refused = await clone(body);
    expect(refused.status).to.equal(409);
    expect(JSON.stringify(refused.body)).to.contain('data of db, web').and.contain('"data\\": \\"none');
    await back(database);
    await back(web);
    await runSql(platform, database, 'delete from orders where id > 10');

    const made = await clone(body);
    expect(made.status, JSON.stringify(made.body)).to.equal(201);
    const { environment, clone: of } = made.body as Json;
    const read = async (): Promise<Json> =>
      (await platform.client.expect<Json>('GET', `/stacks/${of.stack}/applies/${of.apply.id}`)).apply;
    await eventually('data is restored', () =>
      platform.database
        .db('operations')
        .where({ kind: 'restore', status: 'running' })
        .whereNotNull('worker_id')
        .first(),
    );
    for (const worker of platform.workers) worker.kill('SIGKILL');
    await platform.startWorker();
    const apply = await eventually(
      'the apply has ended',
      async () => {
        const now = await read();
        if (now.finishedAt !== null) return now;
        throw new Error(JSON.stringify(now.steps));
      },
      240_000,
    );
    expect(apply.error).to.equal('');
    expect(apply.status).to.equal('succeeded');
    const { steps } = apply;
    expect(steps.slice(-4).map(({ op, name }: Json) => `${op} ${name}`)).to.deep.equal([
      ...['service.deploy db', 'service.restore db', 'service.restore web', 'service.deploy web'],
    ]);
    for (const { resourceId, operationId } of steps.filter(({ op }: Json) => op === 'service.restore')) {
      expect(await operationEnded(platform.client, resourceId, operationId)).to.equal('succeeded');
    }
    const [db, app] = [await copyOf(environment.id, 'db'), await copyOf(environment.id, 'web')];
    expect(await rows(db)).to.deep.equal({ n: 1000 });
    expect(await rows(database)).to.deep.equal({ n: 10 });
    const own = JSON.parse((await platform.visit(web)).body);
    const copied = JSON.parse((await platform.visit(app)).body);
    expect(copied).to.deep.equal({ note: 'kept', starts: own.starts + 1, user: copied.user });
    expect(copied.user).not.to.equal(own.user);
    await runSql(platform, db, 'insert into orders values (2000)');
    await back(db);
  });

  it('is made for a preview with databases of its own, before it is deployed, and removed after it', async () => {
    const { client } = platform;
    const repository = await platform.repositoryOf({
      Procfile: 'web: exec node server.js\n',
      'server.js': `require('node:http').createServer((_, r) => r.end(process.env.DB_NAME)).listen(process.env.PORT)`,
    });
    await repository.git('checkout', '-q', '-b', 'topic');
    await repository.commit('Topic', { topic: '' });
    const base = await createService(client, {
      ...{ name: 'shown', ...at, configuration: { repository: repository.url, previewMode: 'manual' } },
    });
    await client.expect('POST', `/services/${base.id}/variables`, {
      ...{ key: 'DB_NAME', reference: { serviceId: database.id, key: 'DATABASE' } },
    });
    await client.expect('PATCH', `/services/${base.id}`, { configuration: { previewDatabases: 'own' } });
    await back(database);
    const { preview } = await client.expect<Json>('POST', `/services/${base.id}/previews`, { branch: 'topic' });
    const [own] = preview.databases;
    const service = { id: own.serviceId };
    await eventually('it is being restored', () =>
      platform.database.db('operations').where({ service_id: own.serviceId, status: 'running' }).first(),
    );
    for (const worker of platform.workers) worker.kill('SIGKILL');
    await platform.startWorker();
    const { deploymentId } = (await client.expect<Json>('GET', `/services/${preview.serviceId}`)).service;
    expect(await ended(client, preview.serviceId, deploymentId)).to.include({ status: 'live', error: '' });
    const [restore] = await platform.database.db('operations').where({ service_id: own.serviceId, kind: 'restore' });
    expect(restore.status).to.equal('succeeded');
    const deployment = await platform.database.db('deployments').where({ id: deploymentId }).first();
    expect(deployment.admitted_at >= restore.finished_at).to.equal(true);
    expect(await rows(service)).to.deep.equal(await rows(database));
    const [{ d }] = (await runSql(platform, service, 'select current_database() as d')) as [{ d: string }];
    expect((await platform.visit(preview)).body).to.equal(d);

    await client.expect('DELETE', `/services/${base.id}/previews/${preview.id}`);
    await eventually(
      'its database is gone',
      async () => {
        const { status } = await client.call('GET', `/services/${own.serviceId}`);
        return status === 404 && !(await readdir(join(platform.dataDir, 'volumes'))).includes(own.serviceId);
      },
      90_000,
    );
    expect((await rows(database))?.n).to.be.greaterThan(0);
  });

  it('is also filled by hand, by the backup of another database', async () => {
    const { client } = platform;
    const other = await createService(client, {
      ...{
        name: 'other',
        kind: 'postgres',
        configuration: { plan: 'starter', databaseName: 'mine', databaseUser: 'me' },
      },
    });
    await deploy(client, other.id);
    const backupId = await back(database);
    const path = `/services/${other.id}/backups/${backupId}/restore`;
    expect((await client.call('POST', path, { confirm: 'other' })).status).to.equal(404);
    const { operation } = await client.expect<Json>('POST', path, { confirm: 'other', from: database.id });
    expect(await operationEnded(client, other.id, operation.id)).to.equal('succeeded');
    expect(
      await runSql(
        platform,
        other,
        'select current_user as u, current_database() as d, count(*)::int as n from orders',
      ),
    ).to.deep.equal([{ u: 'me', d: 'mine', n: (await rows(database))?.n }]);
  });
});
