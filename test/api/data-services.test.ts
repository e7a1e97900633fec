import { expect } from 'chai';
import { expectError, newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { makeWorker } from '../support/factories.js';

describe('Databases over HTTP', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  useTestApi((started) => {
    ({ api, workspace } = started);
  });

  const database = (name: string, configuration: object = {}) =>
    newService(workspace.owner.client, workspace.path, { name, kind: 'postgres', configuration });
  const post = (path: string, body: object = {}) => workspace.owner.client.post(`${workspace.path}${path}`, body);

  it('are capabilities only while some host can run them', async () => {
    const capabilities = async () => (await workspace.owner.client.get('/catalog')).body.capabilities;
    const worker = await makeWorker(api.db, 1);
    expect(await capabilities()).to.include({ databases: false, keyValueStores: false });
    await api
      .db('workers')
      .where({ id: worker })
      .update({ data_kinds: ['postgres'] });
    expect(await capabilities()).to.include({ databases: true, keyValueStores: false });
    const redis = await newService(workspace.owner.client, workspace.path, { name: 'cache', kind: 'redis' });
    const refused = await post(`/services/${redis.id}/deploys`);
    expectError(refused, 400, 'source_invalid');
    expect(refused.body.error.message).to.match(/redis-server or valkey-server/);
    await api.db('workers').where({ id: worker }).delete();
  });

  it('are queued without a source, with names and sealed passwords of their own', async () => {
    const service = await database('my-shop');
    expect((await post(`/services/${service.id}/deploys`)).body.deployment).to.include({
      status: 'queued',
      commitSha: '',
    });
    const row = await api.db('data_servers').where({ id: service.id }).first();
    expect(row).to.include({ database_name: 'my_shop', user_name: 'my_shop', version: '16' });
    expect(row.sealed_password).to.be.instanceOf(Buffer);
  });

  it('refuse names that PostgreSQL reserves, versions that do not exist and plans of applications', async () => {
    for (const [configuration, path] of [
      [{ databaseName: 'postgres' }, '/configuration/databaseName'],
      [{ databaseUser: 'pg_admin' }, '/configuration/databaseUser'],
      [{ databaseName: 'a-b' }, '/configuration/databaseName'],
      [{ databaseVersion: '12' }, '/configuration/databaseVersion'],
      [{ plan: 'pro_plus' }, '/configuration/plan'],
    ] as const) {
      const refused = await post('/services', { name: 'x', kind: 'postgres', configuration });
      expectError(refused, 400, 'invalid_request');
      expect(refused.body.error.details[0].path).to.equal(path);
    }
  });

  it('lend what they offer, and nothing else; their values are no part of a snapshot', async () => {
    const orders = await database('orders');
    const app = await newService(workspace.owner.client, workspace.path, {
      name: 'app',
      configuration: { repository: 'file:///srv/app.git' },
    });
    const refer = (key: string, what: string) =>
      post(`/services/${app.id}/variables`, { key, reference: { serviceId: orders.id, key: what } });
    expect((await refer('DATABASE_URL', 'URL')).status).to.equal(201);
    const { body } = await post(`/services/${app.id}/deploys`);
    const [snapshot] = await api.db('snapshots').where({ service_id: app.id });
    expect(snapshot.data_references).to.deep.equal({ DATABASE_URL: { serviceId: orders.id, key: 'URL' } });
    expect(body.deployment.status).to.equal('queued');
    expect((await refer('OTHER', 'SECRET')).status).to.equal(201);
    expectError(await post(`/services/${app.id}/deploys`), 400, 'source_invalid');
  });

  it('are not deleted while a service refers to them, and are not rolled back', async () => {
    const orders = await database('ledger');
    const app = await newService(workspace.owner.client, workspace.path, { name: 'books' });
    const created = await post(`/services/${app.id}/variables`, {
      key: 'URL',
      reference: { serviceId: orders.id, key: 'URL' },
    });
    const remove = () =>
      workspace.owner.client.delete(`${workspace.path}/services/${orders.id}`, { confirm: 'ledger' });
    const refused = await remove();
    expectError(refused, 409, 'conflict');
    expect(refused.body.error.message).to.include('"books"');
    await workspace.owner.client.delete(`${workspace.path}/services/${app.id}/variables/${created.body.variable.id}`);
    expect((await remove()).body).to.include({ deleted: true });
  });
});
