import { expect } from 'chai';
import { Sensitive } from '../../shared/core/sensitive.js';
import { Keyring } from '../../shared/secrets/keyring.js';
import {
  expectError,
  type Json,
  newService,
  startTestApi,
  type TestApi,
  type TestWorkspace,
  useTestApi,
} from '../support/api.js';
import { describeEngines } from '../support/platform.js';
import { newDeployment, pretendLive, snapshotValues } from '../support/records.js';
import { hasRedis, startRedis } from '../support/redis.js';

const REPOSITORY = { repository: 'https://example.com/shop.git' };

describeEngines('Deployments, actions and operations', (queues) => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let service: Json;
  let path: string;

  useTestApi((given) => ({ api, workspace } = given), { queues });
  beforeEach(async () => {
    service = await newService(workspace.owner.client, workspace.path, { configuration: REPOSITORY });
    path = `${workspace.path}/services/${service.id}`;
  });

  describe('queue', () => {
    it('creates a durable deployment with status queued: 200', async () => {
      const wakes = api.wakes();
      const commitSha = 'a'.repeat(40);
      const { status, body } = await workspace.owner.client.post(`${path}/deploys`, { branch: 'next', commitSha });
      expect(status).to.equal(200);
      expect(body.deployment).to.include({
        status: 'queued',
        trigger: 'manual',
        actor: workspace.owner.email,
        branch: 'next',
        commitSha,
        error: '',
        canRollback: false,
        cancelRequested: false,
        sourceDeploymentId: null,
        startedAt: null,
        finishedAt: null,
      });
      expect(body.deployment.steps[0]).to.include({ name: 'queued', finishedAt: null });
      expect(api.wakes()).to.equal(wakes + 1);
      const read = await workspace.owner.client.get(`${path}/deploys/${body.deployment.id}`);
      expect(read.body.deployment).to.deep.equal(body.deployment);
    });

    it('refuses a service without a source, and a branch or commit that could be an option', async () => {
      const bare = await newService(workspace.owner.client, workspace.path);
      const response = await workspace.owner.client.post(`${workspace.path}/services/${bare.id}/deploys`);
      expectError(response, 400, 'source_invalid');
      for (const body of [{ branch: '--upload-pack=x' }, { branch: '' }, { commitSha: 'HEAD' }, { ref: 'main' }]) {
        expectError(await workspace.owner.client.post(`${path}/deploys`, body), 400, 'invalid_request');
      }
    });
  });

  describe('list', () => {
    it('is newest first, at most 100 with page metadata, even unpaginated', async () => {
      for (let i = 0; i < 101; i++) await newDeployment(api.db, service.id, { status: 'failed' });
      const { body } = await workspace.owner.client.get(`${path}/deploys`);
      expect(body).to.deep.include({ available: true, reason: '' });
      expect(body.items).to.have.length(100);
      expect(body.page).to.deep.include({ limit: 100, hasMore: true });
      const times = body.items.map((item: Json) => Date.parse(item.createdAt));
      expect(times).to.deep.equal([...times].sort((a, b) => b - a));
      const rest = await workspace.owner.client.get(`${path}/deploys?cursor=${body.page.nextCursor}`);
      expect(rest.body.items).to.have.length(1);
      expect(rest.body.page.nextCursor).to.equal(null);
    });

    it('finds a deployment only under its own service', async () => {
      const id = await newDeployment(api.db, service.id);
      const other = await newService(workspace.owner.client, workspace.path);
      expectError(
        await workspace.owner.client.get(`${workspace.path}/services/${other.id}/deploys/${id}`),
        404,
        'not_found',
      );
    });
  });

  describe('list of the workspace', () => {
    it('has the deployments of all services in pages, newest first, with service and reason', async () => {
      const own = await api.workspace();
      const { client } = own.owner;
      const [shop, mailer] = [
        await newService(client, own.path, { configuration: REPOSITORY }),
        await newService(client, own.path, { configuration: REPOSITORY }),
      ];
      const ids = [
        await newDeployment(api.db, shop.id, { status: 'failed', error: 'it broke' }),
        await newDeployment(api.db, mailer.id, { blocked_reason: 'workspace builds 1 of 1' }),
        await newDeployment(api.db, shop.id),
      ].reverse();
      const first = (await client.get(`${own.path}/deploys?limit=2`)).body;
      const rest = (await client.get(`${own.path}/deploys?limit=2&cursor=${first.page.nextCursor}`)).body;
      const items = [...first.items, ...rest.items];
      expect(items.map((item: Json) => item.id)).to.deep.equal(ids);
      expect(items[1]).to.include({
        serviceId: mailer.id,
        serviceName: mailer.name,
        blockedReason: 'workspace builds 1 of 1',
      });
      expect(rest.page).to.include({ hasMore: false, nextCursor: null });
      const active = (await client.get(`${own.path}/deploys?active=true`)).body.items;
      expect(active.map((item: Json) => item.id)).to.deep.equal(ids.slice(0, 2));
      expectError(await client.get(`${own.path}/deploys?active=1`), 400, 'invalid_request');
      const cursor = first.page.nextCursor;
      expectError(await client.get(`${own.path}/deploys?active=true&cursor=${cursor}`), 400, 'invalid_cursor');
    });

    it('leaves out deleted services and other workspaces', async () => {
      const own = await api.workspace();
      const gone = await newService(own.owner.client, own.path, { configuration: REPOSITORY });
      await newDeployment(api.db, gone.id, { status: 'failed' });
      await api.db('services').where({ id: gone.id }).update({ deleted_at: api.db.fn.now() });
      await newDeployment(api.db, service.id);
      expect((await own.owner.client.get(`${own.path}/deploys`)).body.items).to.deep.equal([]);
    });
  });

  describe('snapshot', () => {
    it('shows the configuration and the names of the variables at the time, also after the values were erased', async () => {
      const repository = 'https://user:secret@example.com/shop.git';
      await workspace.owner.client.patch(path, { configuration: { repository, port: 4000 } });
      for (const key of ['B', 'A']) await workspace.owner.client.post(`${path}/variables`, { key, value: 'hidden' });
      const { deployment } = (await workspace.owner.client.post(`${path}/deploys`)).body;
      await workspace.owner.client.patch(path, { configuration: { port: 5000 } });
      await workspace.owner.client.post(`${path}/variables`, { key: 'C', value: 'hidden' });
      await api.db('deployments').where({ id: deployment.id }).update({ snapshot_id: null });
      const answer = await workspace.owner.client.get(`${path}/deploys/${deployment.id}/snapshot`);
      expect(answer.body.snapshot.variables).to.deep.equal(['A', 'B']);
      expect(answer.body.snapshot.configuration).to.include({ port: 4000, branch: 'main' });
      expect(JSON.stringify(answer.body)).to.not.match(/hidden|secret/);
    });

    it('is found under its own service only, and has no names if they were not recorded', async () => {
      const id = await newDeployment(api.db, service.id);
      const answer = await workspace.owner.client.get(`${path}/deploys/${id}/snapshot`);
      expect(answer.body.snapshot.variables).to.equal(null);
      const other = await newService(workspace.owner.client, workspace.path);
      const elsewhere = `${workspace.path}/services/${other.id}/deploys/${id}/snapshot`;
      expectError(await workspace.owner.client.get(elsewhere), 404, 'not_found');
    });
  });

  describe('cancel', () => {
    it('acknowledges, and the deployment shows cancelRequested', async () => {
      const { body } = await workspace.owner.client.post(`${path}/deploys`);
      const one = `${path}/deploys/${body.deployment.id}`;
      const response = await workspace.owner.client.post(`${one}/cancel`);
      expect(response.status).to.equal(200);
      expect(response.body).to.deep.equal({ cancelRequested: true });
      expect((await workspace.owner.client.get(one)).body.deployment.cancelRequested).to.equal(true);
    });

    it('of a terminal deployment is rejected', async () => {
      for (const status of ['live', 'failed', 'cancelled']) {
        const id = await newDeployment(api.db, service.id, { status });
        expectError(await workspace.owner.client.post(`${path}/deploys/${id}/cancel`), 409, 'deployment_terminal');
      }
    });
  });

  describe('rollback', () => {
    it('queues a new deployment whose source is the earlier release', async () => {
      const first = await workspace.owner.client.post(`${path}/deploys`);
      const source = first.body.deployment.id;
      const live = await pretendLive(api.db, service.id);
      const { image_id } = await api.db('deployments').where({ id: live }).first();
      await api
        .db('deployments')
        .where({ id: source })
        .update({ status: 'live', image_id, went_live_at: new Date(), finished_at: new Date() });
      const one = `${path}/deploys/${source}`;
      expect((await workspace.owner.client.get(one)).body.deployment.canRollback).to.equal(true);
      const { status, body } = await workspace.owner.client.post(`${one}/rollback`, { confirm: service.name });
      expect(status).to.equal(200);
      expect(body.deployment).to.include({ status: 'queued', trigger: 'rollback', sourceDeploymentId: source });
      expect(body.deployment.id).to.not.equal(source);
    });

    it('reuses the source’s configuration and its encrypted secret snapshot, in spite of later changes', async () => {
      const { client } = workspace.owner;
      await client.post(`${path}/variables`, { key: 'TOKEN', value: 'of then' });
      const source = (await client.post(`${path}/deploys`)).body.deployment.id;
      const live = await pretendLive(api.db, service.id);
      const { image_id } = await api.db('deployments').where({ id: live }).first();
      await api
        .db('deployments')
        .where({ id: source })
        .update({ status: 'live', image_id, went_live_at: new Date(), finished_at: new Date() });
      const { body: listed } = await client.get(`${path}/variables`);
      await client.patch(`${path}/variables/${listed.variables[0].id}`, { value: 'of now' });
      await client.patch(path, { configuration: { startCommand: './changed' } });
      const { body } = await client.post(`${path}/deploys/${source}/rollback`, { confirm: service.name });
      const row = await api.db('deployments').where({ id: body.deployment.id }).first();
      const before = await api.db('deployments').where({ id: source }).first();
      expect(row.configuration).to.deep.equal(before.configuration);
      expect(row.image_id).to.equal(image_id);
      const keyring = new Keyring(api.config.secretsKey);
      expect(await snapshotValues(api.db, keyring, row)).to.deep.equal({ TOKEN: 'of then' });
    });

    it('needs the service’s exact name, and a source that went live with a retained image', async () => {
      const failed = await newDeployment(api.db, service.id, { status: 'failed' });
      const confirm = service.name;
      const rollback = (id: string, body: unknown) =>
        workspace.owner.client.post(`${path}/deploys/${id}/rollback`, body);
      expectError(await rollback(failed, { confirm: 'something else' }), 400, 'invalid_confirmation');
      expectError(await rollback(failed, { confirm }), 409, 'conflict');
      const live = await pretendLive(api.db, service.id);
      await api.db('images').where({ service_id: service.id }).update({ removed_at: new Date() });
      expect((await workspace.owner.client.get(`${path}/deploys/${live}`)).body.deployment.canRollback).to.equal(false);
      expectError(await rollback(live, { confirm }), 409, 'conflict');
    });
  });

  describe('actions', () => {
    it('restart, suspend and resume answer { queued, operation }', async () => {
      await pretendLive(api.db, service.id);
      for (const action of ['restart', 'suspend', 'resume']) {
        const { status, body } = await workspace.owner.client.post(`${path}/actions`, { action });
        expect(status).to.equal(200);
        expect(body.queued).to.equal(true);
        expect(body.operation).to.include({ kind: action, status: 'queued' });
      }
      const { body } = await workspace.owner.client.get(`${path}/operations`);
      expect(body.operations.map((operation: Json) => operation.kind)).to.deep.equal(['resume', 'suspend', 'restart']);
    });

    it('need a provisioned runtime', async () => {
      expectError(await workspace.owner.client.post(`${path}/actions`, { action: 'restart' }), 409, 'no_runtime');
    });

    it('deploy and clear-cache answer { deployment }', async () => {
      const deploy = await workspace.owner.client.post(`${path}/actions`, { action: 'deploy' });
      expect(deploy.body.deployment).to.include({ status: 'queued', trigger: 'manual' });
      const cleared = await workspace.owner.client.post(`${path}/actions`, { action: 'clear-cache' });
      expect(cleared.body.deployment).to.include({ status: 'queued', trigger: 'clear-cache' });
      expectError(await workspace.owner.client.post(`${path}/actions`, { action: 'explode' }), 400, 'invalid_request');
    });
  });

  it('operations are read one by one and in pages', async () => {
    await pretendLive(api.db, service.id);
    for (let i = 0; i < 3; i++) await workspace.owner.client.post(`${path}/actions`, { action: 'restart' });
    const first = await workspace.owner.client.get(`${path}/operations?limit=2`);
    expect(first.body.operations).to.have.length(2);
    const rest = await workspace.owner.client.get(`${path}/operations?limit=2&cursor=${first.body.page.nextCursor}`);
    expect(rest.body.operations).to.have.length(1);
    const [operation] = rest.body.operations;
    const read = await workspace.owner.client.get(`${path}/operations/${operation.id}`);
    expect(read.body.operation).to.deep.equal(operation);
    const other = await newService(workspace.owner.client, workspace.path);
    const elsewhere = `${workspace.path}/services/${other.id}/operations/${operation.id}`;
    expectError(await workspace.owner.client.get(elsewhere), 404, 'not_found');
  });
});

describe('Where hosting is disabled', () => {
  let workspace: TestWorkspace;

  useTestApi((given) => ({ workspace } = given), { hostingEnabled: false });

  it('deployments of a service without runtime are not available, and nothing can be queued', async () => {
    const service = await newService(workspace.owner.client, workspace.path, { configuration: REPOSITORY });
    const path = `${workspace.path}/services/${service.id}`;
    const { body } = await workspace.owner.client.get(`${path}/deploys`);
    expect(body).to.deep.include({ available: false, items: [] });
    expect(body.reason).to.not.equal('');
    expect((await workspace.owner.client.get(`${path}/logs`)).body.available).to.equal(false);
    expectError(await workspace.owner.client.post(`${path}/deploys`), 409, 'hosting_disabled');
    expectError(await workspace.owner.client.post(`${path}/actions`, { action: 'restart' }), 409, 'hosting_disabled');
    const deployed = { name: 'x', kind: 'web', configuration: REPOSITORY, deploy: true };
    expectError(await workspace.owner.client.post(`${workspace.path}/services`, deployed), 409, 'hosting_disabled');
    expect((await workspace.owner.client.get('/catalog')).body.capabilities.hostingEnabled).to.equal(false);
  });
});

const [outage, suite] = hasRedis ? ['', describe] : [': redis-server is not installed', describe.skip];

suite(`Where the queue engine (Redis) cannot be reached${outage}`, () => {
  let api: TestApi;
  let workspace: TestWorkspace;

  before(async () => {
    const redis = await startRedis();
    api = await startTestApi({ redisUrl: new Sensitive(redis.url) });
    workspace = await api.workspace();
    await redis.stop();
  });
  after(() => api?.close());

  it('queueing requests are refused with engine_unavailable, and nothing is stored', async () => {
    const { client } = workspace.owner;
    const service = await newService(client, workspace.path, { configuration: REPOSITORY });
    const path = `${workspace.path}/services/${service.id}`;
    const headers = { 'Idempotency-Key': 'during-the-outage' };
    const deployed = { name: 'Outage', kind: 'web', configuration: REPOSITORY, deploy: true };
    expectError(await client.post(`${workspace.path}/services`, deployed, headers), 409, 'engine_unavailable');
    expectError(await client.post(`${path}/deploys`, {}, headers), 409, 'engine_unavailable');
    expectError(await client.post(`${path}/actions`, { action: 'deploy' }), 409, 'engine_unavailable');
    await pretendLive(api.db, service.id);
    expectError(await client.post(`${path}/actions`, { action: 'restart' }), 409, 'engine_unavailable');
    expectError(await client.patch(path, { configuration: { maintenance: true } }), 409, 'engine_unavailable');
    expectError(await client.delete(path, { confirm: service.name }), 409, 'engine_unavailable');
    for (const table of ['operations', 'receipts']) expect(await api.db(table)).to.deep.equal([]);
    expect(await api.db('deployments').whereNull('finished_at')).to.deep.equal([]);
    expect(await api.db('services').where({ name: 'Outage' })).to.deep.equal([]);
    const { body } = await client.get(path);
    expect(body.service).to.include({ archived: false });
    expect(body.service.configuration.maintenance).to.equal(false);
  });

  it('requests that queue nothing succeed', async () => {
    const { client } = workspace.owner;
    const service = await newService(client, workspace.path);
    const path = `${workspace.path}/services/${service.id}`;
    expect((await client.patch(path, { configuration: { port: 1234 } })).status).to.equal(200);
    expect((await client.delete(path, { confirm: service.name })).body.deleted).to.equal(true);
    const ready = await fetch(`${api.url}/readyz`);
    expect(ready.status).to.equal(503);
  });
});
