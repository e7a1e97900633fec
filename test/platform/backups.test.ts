import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import pg from 'pg';
import { ended, operationEnded, readLogs, type Service } from '../support/deployments.js';
import { type Platform, startPlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { hasRedis } from '../support/redis.js';
import { databaseAddress, runSql } from './database-session.js';

interface Backup {
  id: string;
  status: string;
  sizeBytes: number | null;
  createdAt: string;
  expiresAt: string;
  error: string;
}

describe('Backups of databases', function () {
  // Long, because a busy machine delays a whole platform.
  this.timeout(300_000);
  let platform: Platform;
  let database: Service;
  let store: Service;

  before(async () => {
    platform = await startPlatform({
      engine: 'postgres',
      workers: 2,
      env: { STOP_GRACE_SECONDS: '5' },
    });
    database = await create('orders', 'postgres', { databaseVersion: '18' });
    if (hasRedis) store = await create('cache', 'redis', {});
  });
  after(() => platform?.stop());

  async function create(name: string, kind: string, configuration: object): Promise<Service> {
    const body = { name, kind, configuration: { plan: 'starter', ...configuration }, deploy: true };
    const { service } = await platform.client.expect<{ service: Service }>('POST', '/services', body);
    const deployment = await ended(platform.client, service.id, service.deploymentId ?? '', 180_000);
    expect(deployment).to.include({ status: 'live', error: '' });
    return service;
  }

  const address = (service: Service) => databaseAddress(platform, service);
  const sql = (text: string) => runSql(platform, database, text);
  const count = async () => Number((await sql('select count(*) as n from orders'))[0]?.n);

  const backups = async ({ id }: Service) =>
    (await platform.client.expect<{ backups: Backup[] }>('GET', `/services/${id}/backups`)).backups;
  const take = async ({ id }: Service) =>
    (await platform.client.expect<{ backup: Backup }>('POST', `/services/${id}/backups`, {})).backup;
  const read = async ({ id }: Service, backup: string) =>
    (await platform.client.expect<{ backup: Backup }>('GET', `/services/${id}/backups/${backup}`)).backup;
  const whole = (service: Service, id: string) =>
    eventually(
      `backup ${id} ends`,
      async () => {
        const backup = await read(service, id);
        if (backup.status === 'failed') throw new Error(backup.error);
        return backup.status === 'succeeded' ? backup : undefined;
      },
      120_000,
    );
  async function restore(service: Service, id: string): Promise<string> {
    const { operation } = await platform.client.expect<{ operation: { id: string; kind: string } }>(
      'POST',
      `/services/${service.id}/backups/${id}/restore`,
      { confirm: service.name },
    );
    expect(operation.kind).to.equal('restore');
    return operationEnded(platform.client, service.id, operation.id);
  }
  const volumeIsTidy = () =>
    eventually('nothing else is left on the volume', async () => {
      const left = await readdir(join(platform.dataDir, 'volumes', database.id));
      if (left.length === 2) return true;
      throw new Error(left.join(' '));
    });
  const archives = async ({ id }: Service) => readdir(join(platform.dataDir, 'backups', id)).catch(() => []);
  const said = async ({ id }: Service) => (await readLogs(platform.client, id)).map((line) => line.message).join('\n');

  it('bring back what was destroyed, and nothing that was written after them', async () => {
    await sql('create table orders (id bigserial primary key, body text not null)');
    await sql(`insert into orders (body) select repeat(md5(n::text), 40) from generate_series(1, 50000) n`);
    const client = new pg.Client(await address(database));
    client.on('error', () => undefined);
    await client.connect();
    let on = true;
    const writing = (async () => {
      while (on) await client.query(`insert into orders (body) values ('written meanwhile')`);
    })();
    const { id } = await take(database);
    const backup = await whole(database, id);
    on = false;
    await writing;
    await client.end();
    expect(backup.sizeBytes).to.be.greaterThan(1_000_000);
    expect(Date.parse(backup.expiresAt) - Date.parse(backup.createdAt)).to.equal(7 * 24 * 3_600_000);
    expect(await said(database)).to.match(new RegExp(`Backup ${id} succeeded: .* B-trees verified`));
    expect(await archives(database)).to.have.lengthOf(1);

    const written = await count();
    await sql(`insert into orders (body) select 'too late' from generate_series(1, 1000)`);
    await sql('create table unwanted (x int)');
    await sql('delete from orders where id <= 40000');
    expect(await restore(database, id)).to.equal('succeeded');
    const rows = await count();
    expect(rows).to.be.within(50_000, written);
    expect(await sql(`select count(*)::int as n from orders where body = 'too late'`)).to.deep.equal([{ n: 0 }]);
    expect(await sql(`select to_regclass('unwanted') as t`)).to.deep.equal([{ t: null }]);
    await sql(`insert into orders (body) values ('afterwards')`);
    expect(await count()).to.equal(rows + 1);
    await volumeIsTidy();
  });

  it('of Redis bring back every key', async function () {
    if (!hasRedis) this.skip();
    const connect = async () => {
      const { host, port, password } = await address(store);
      return new Redis({ host, port, password });
    };
    let client = await connect();
    for (let i = 0; i < 5000; i += 500) {
      await client.mset(Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`key:${i + n}`, 'v'.repeat(200)])));
    }
    const { id } = await take(store);
    expect((await whole(store, id)).sizeBytes).to.be.greaterThan(0);
    expect(await said(store)).to.contain('5000 keys');
    await client.flushall();
    await client.set('later', '1');
    client.disconnect();
    expect(await restore(store, id)).to.equal('succeeded');
    client = await connect();
    expect(await client.dbsize()).to.equal(5000);
    expect(await client.get('key:4999')).to.equal('v'.repeat(200));
    expect(await client.get('later')).to.equal(null);
    client.disconnect();
  });

  it('are made anew if their worker is killed meanwhile, and leave nothing else behind', async () => {
    const before = await archives(database);
    const { id } = await take(database);
    await eventually('the archive is being written', async () => {
      const row = await platform.database.db('backups').where({ id }).first();
      return row.status === 'running' && row.object !== null;
    });
    const row = await platform.database.db('backups').where({ id }).first();
    const worker = await platform.database.db('workers').where({ id: row.worker_id }).first();
    process.kill(worker.pid, 'SIGKILL');
    await platform.startWorker();
    const backup = await whole(database, id);
    expect(backup.error).to.equal('');
    const after = await platform.database.db('backups').where({ id }).first();
    expect(after.fence).to.be.greaterThan(row.fence);
    const [object] = after.object.split('/').slice(1);
    expect(await archives(database)).to.have.members([...before, object]);
    expect(await readdir(join(platform.dataDir, 'backup-checks'))).to.deep.equal([]);
    expect(await restore(database, id)).to.equal('succeeded');
  });

  it('are restored once, also if the worker is killed between stopping the server and starting it', async () => {
    const [backup] = await backups(database);
    const rows = await count();
    await sql('delete from orders');
    const { operation } = await platform.client.expect<{ operation: { id: string } }>(
      'POST',
      `/services/${database.id}/backups/${backup?.id}/restore`,
      { confirm: database.name },
    );
    const volume = join(platform.dataDir, 'volumes', database.id);
    await eventually('the data before is moved aside', async () =>
      (await readdir(volume)).includes(`before-${operation.id}`),
    );
    const row = await platform.database.db('operations').where({ id: operation.id }).first();
    const worker = await platform.database.db('workers').where({ id: row.worker_id }).first();
    process.kill(worker.pid, 'SIGKILL');
    await platform.startWorker();
    expect(await operationEnded(platform.client, database.id, operation.id)).to.equal('succeeded');
    expect(await count()).to.equal(rows);
    await volumeIsTidy();
  });

  it('go with their service', async () => {
    const { id, name } = database;
    await platform.client.expect('DELETE', `/services/${id}`, { confirm: name });
    await eventually('the archives are gone', async () => (await archives(database)).length === 0, 180_000);
  });
});
