import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { MAX_MANUAL_BACKUPS } from '../../shared/backups/model.js';
import {
  type ApiResponse,
  expectError,
  type Json,
  newService,
  type TestApi,
  type TestWorkspace,
  useTestApi,
} from '../support/api.js';
import { newDeployment, newEnvironment, pretendLive } from '../support/records.js';

function expectRefusal(response: ApiResponse, status: number, code: string, words: string): void {
  expectError(response, status, code);
  expect(response.body.error.message).to.contain(words);
}

describe('Backups', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let service: Json;
  let path: string;

  useTestApi((given) => ({ api, workspace } = given));
  beforeEach(async () => {
    service = await newService(workspace.owner.client, workspace.path, {
      kind: 'postgres',
      configuration: { plan: 'starter', backupRetentionDays: 30 },
    });
    path = `${workspace.path}/services/${service.id}`;
  });
  const live = () => pretendLive(api.db, service.id);
  const post = (rest = '/backups', body: object = {}, headers?: Record<string, string>) =>
    workspace.owner.client.post(`${path}${rest}`, body, headers);
  async function configure(configuration: object): Promise<void> {
    const { status, body } = await workspace.owner.client.patch(path, { configuration });
    expect(status, JSON.stringify(body)).to.equal(200);
  }
  const get = (rest: string) => workspace.owner.client.get(`${path}${rest}`);
  async function ended(fields: Record<string, unknown> = {}): Promise<string> {
    const id = uuidv7();
    const base = { id, workspace_id: workspace.id, service_id: service.id, trigger: 'manual' };
    await api
      .db('backups')
      .insert({ ...base, status: 'succeeded', size_bytes: 42, finished_at: new Date(), ...fields });
    return id;
  }

  it('are queued by a POST, which answers 202, and read with their fields', async () => {
    await live();
    const wakes = api.wakes();
    const { status, body } = await post();
    expect(status).to.equal(202);
    const { id, createdAt, expiresAt, ...rest } = body.backup;
    expect(rest).to.deep.equal({
      status: 'queued',
      trigger: 'manual',
      sizeBytes: null,
      startedAt: null,
      finishedAt: null,
      error: '',
    });
    expect(api.wakes()).to.equal(wakes + 1);
    expect((await get(`/backups/${id}`)).body.backup).to.deep.equal(body.backup);
    expectError(await get(`/backups/${uuidv7()}`), 404, 'not_found');
    expect(Date.parse(expiresAt) - Date.parse(createdAt)).to.equal(7 * 24 * 3_600_000);
  });

  it('expire after backupRetentionDays, at most after those of the plan', async () => {
    const id = await ended({ created_at: new Date(Date.UTC(2026, 0, 1)) });
    const expiresAt = async () => (await get(`/backups/${id}`)).body.backup.expiresAt;
    expect(await expiresAt()).to.equal('2026-01-08T00:00:00.000Z');
    await configure({ backupRetentionDays: 2 });
    expect(await expiresAt()).to.equal('2026-01-03T00:00:00.000Z');
    await configure({ plan: 'pro', backupRetentionDays: 20 });
    expect(await expiresAt()).to.equal('2026-01-21T00:00:00.000Z');
  });

  it('are restored into another service of the same kind, with the rights to read the first', async () => {
    const backupId = await ended();
    const other = await newService(workspace.owner.client, workspace.path, { name: 'other', kind: 'postgres' });
    const redis = await newService(workspace.owner.client, workspace.path, { name: 'cache', kind: 'redis' });
    for (const { id } of [other, redis]) await pretendLive(api.db, id);
    const restore = (into: Json, from?: string, client = workspace.owner.client) =>
      client.post(`${workspace.path}/services/${into.id}/backups/${backupId}/restore`, { confirm: into.name, from });
    expectError(await restore(other), 404, 'not_found');
    expectError(await restore(other, workspace.id), 404, 'not_found');
    expectRefusal(await restore(redis, service.id), 409, 'conflict', 'of kind redis');
    const { projectId, environmentId } = await newEnvironment(api.db, workspace.id);
    await api.db('services').where({ id: service.id }).update({ project_id: projectId, environment_id: environmentId });
    await api.db('environments').where({ id: environmentId }).update({ protected: true });
    expectError(await restore(other, service.id, (await workspace.member('developer')).client), 403, 'forbidden');
    const answer = await restore(other, service.id);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(202);
    expectRefusal(await restore(other, service.id), 409, 'conflict', 'being restored');
    const removed = await workspace.owner.client.delete(`${path}/backups/${backupId}`);
    expectRefusal(removed, 409, 'conflict', 'being restored from this backup');
  });

  it('are made once for one Idempotency-Key', async () => {
    await live();
    const key = { 'Idempotency-Key': uuidv7() };
    const first = await post('/backups', {}, key);
    const second = await post('/backups', {}, key);
    expect(second.status).to.equal(202);
    expect(second.headers.get('Idempotency-Replayed')).to.equal('true');
    expect(second.body).to.deep.equal(first.body);
  });

  it('are listed newest first, in pages', async () => {
    for (let i = 0; i < 5; i++) await ended({ created_at: new Date(Date.UTC(2026, 0, 1, i)) });
    await ended({ deleted_at: new Date() });
    const first = (await get('/backups?limit=3')).body;
    const rest = (await get(`/backups?limit=3&cursor=${first.page.nextCursor}`)).body;
    expect(first.page).to.include({ limit: 3, hasMore: true });
    const hours = [...first.backups, ...rest.backups].map(({ createdAt }: Json) => new Date(createdAt).getUTCHours());
    expect(hours).to.deep.equal([4, 3, 2, 1, 0]);
  });

  it('are made one at a time', async () => {
    await live();
    const answers = await Promise.all([post(), post(), post()]);
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([202, 409, 409]);
    expect(answers.find(({ status }) => status === 409)?.body.error.message).to.contain('under way');
  });

  it('need a database that runs and has backups enabled', async () => {
    expectError(await post(), 409, 'no_runtime');
    await live();
    await api.db('services').where({ id: service.id }).update({ lifecycle_status: 'suspended' });
    expectRefusal(await post(), 409, 'conflict', 'resume it first');
    await api.db('services').where({ id: service.id }).update({ lifecycle_status: 'active', archived: true });
    expectError(await post(), 409, 'service_archived');
    await api.db('services').where({ id: service.id }).update({ archived: false });
    await configure({ backupEnabled: false });
    expectRefusal(await post(), 409, 'conflict', 'backupEnabled');
    const web = await newService(workspace.owner.client, workspace.path, {
      configuration: { repository: 'https://example.com/shop.git' },
    });
    await pretendLive(api.db, web.id);
    const answer = await workspace.owner.client.post(`${workspace.path}/services/${web.id}/backups`, {});
    expectRefusal(answer, 409, 'conflict', 'of kind web');
    expectError(await post('/backups', { unknown: 1 }), 400, 'invalid_request');
  });

  describe('of volumes', () => {
    beforeEach(async () => {
      service = await newService(workspace.owner.client, workspace.path, { configuration: { plan: 'starter' } });
      path = `${workspace.path}/services/${service.id}`;
    });
    const mount = () => api.db('volumes').where({ service_id: service.id }).update({ host_id: uuidv7() });

    it('need a volume that a release has mounted', async () => {
      expectRefusal(await post(), 409, 'conflict', 'no volume');
      await post('/volumes', { name: 'data', mountPath: '/data', sizeGb: 1 });
      expectError(await post(), 409, 'no_runtime');
      await live();
      expectRefusal(await post(), 409, 'conflict', 'deploy it first');
      await mount();
      const { status, body } = await post('/backups', { pause: true });
      expect(status, JSON.stringify(body)).to.equal(202);
      expect(await api.db('backups').where({ id: body.backup.id }).first()).to.include({ pause: true });
    });

    it('exist for every kind that has volumes, and pause nothing unless asked to', async () => {
      for (const kind of ['web', 'private', 'worker', 'cron']) {
        service = await newService(workspace.owner.client, workspace.path, { kind });
        path = `${workspace.path}/services/${service.id}`;
        await post('/volumes', { name: 'data', mountPath: '/data', sizeGb: 1 });
        await live();
        await mount();
        const { status, body } = await post('/backups');
        expect(status, kind).to.equal(202);
        expect(await api.db('backups').where({ id: body.backup.id }).first()).to.include({ pause: false });
        await api.db('backups').where({ id: body.backup.id }).update({ status: 'succeeded', finished_at: new Date() });
        expect((await post(`/backups/${body.backup.id}/restore`, { confirm: service.name })).status).to.equal(202);
      }
    });

    it('are not restored while a run has the volumes, and no run begins meanwhile', async () => {
      await post('/volumes', { name: 'data', mountPath: '/data', sizeGb: 1 });
      await live();
      await mount();
      const id = await ended();
      const { run } = (await post('/runs', { command: 'true' })).body;
      expectRefusal(await post(`/backups/${id}/restore`, { confirm: service.name }), 409, 'conflict', 'run');
      await api.db('runs').where({ id: run.id }).update({ status: 'succeeded', finished_at: new Date() });
      expect((await post(`/backups/${id}/restore`, { confirm: service.name })).status).to.equal(202);
      expectRefusal(await post('/runs', { command: 'true' }), 409, 'conflict', 'being restored');
    });
  });

  it('of a database cannot pause it', async () => {
    await live();
    const { status, body } = await post('/backups', { pause: true });
    expect(status).to.equal(400);
    expect(body.error.details[0].path).to.equal('/pause');
    expect((await post('/backups', { pause: false })).status).to.equal(202);
  });

  it('on demand have a bound', async () => {
    await live();
    const ids = await Promise.all(Array.from({ length: MAX_MANUAL_BACKUPS }, () => ended()));
    expectError(await post(), 409, 'capacity_exceeded');
    expect((await workspace.owner.client.delete(`${path}/backups/${ids[0]}`)).body).to.deep.equal({ deleted: true });
    expect((await post()).status).to.equal(202);
    expectError(await get(`/backups/${ids[0]}`), 404, 'not_found');
  });

  it('are neither deleted nor restored while they are made', async () => {
    await live();
    const { id } = (await post()).body.backup;
    expectError(await workspace.owner.client.delete(`${path}/backups/${id}`), 409, 'conflict');
    expectError(await post(`/backups/${id}/restore`, { confirm: service.name }), 409, 'conflict');
  });

  it('need the role and the scope of a write', async () => {
    await live();
    const viewer = await workspace.member('viewer');
    expectError(await viewer.client.post(`${path}/backups`, {}), 403, 'forbidden');
    expectError(await workspace.owner.reader.post(`${path}/backups`, {}), 403, 'forbidden');
    const developer = await workspace.member('developer');
    expect((await developer.client.post(`${path}/backups`, {})).status).to.equal(202);
    expect((await viewer.reader.get(`${path}/backups`)).body.backups).to.have.lengthOf(1);
    const id = await ended();
    const body = { confirm: service.name };
    expectError(await viewer.client.post(`${path}/backups/${id}/restore`, body), 403, 'forbidden');
    expectError(await viewer.client.delete(`${path}/backups/${id}`), 403, 'forbidden');
  });

  describe('restored', () => {
    let id: string;
    beforeEach(async () => {
      await live();
      id = await ended();
    });
    const restore = (body: object = { confirm: service.name }) => post(`/backups/${id}/restore`, body);

    it('answer 202 with an operation of kind restore', async () => {
      const { status, body } = await restore();
      expect(status).to.equal(202);
      expect(body.queued).to.equal(true);
      expect(body.operation).to.include({ kind: 'restore', status: 'queued' });
      const { operation } = (await get(`/operations/${body.operation.id}`)).body;
      expect(operation).to.deep.equal(body.operation);
    });

    it('need the exact name of the service', async () => {
      expectError(await restore({ confirm: `${service.name} ` }), 400, 'invalid_confirmation');
      expectError(await restore({}), 400, 'invalid_request');
      expectError(await post(`/backups/${uuidv7()}/restore`, { confirm: service.name }), 404, 'not_found');
    });

    it('are refused while a deployment, another operation, a backup or a restore is under way', async () => {
      const deployment = await newDeployment(api.db, service.id);
      expectRefusal(await restore(), 409, 'conflict', 'deployment');
      await api.db('deployments').where({ id: deployment }).update({ status: 'failed', finished_at: new Date() });
      const { operation } = (await post('/actions', { action: 'restart' })).body;
      expectRefusal(await restore(), 409, 'conflict', 'restart');
      await api.db('operations').where({ id: operation.id }).update({ status: 'succeeded', finished_at: new Date() });
      const { backup } = (await post()).body;
      expectRefusal(await restore(), 409, 'conflict', 'backup');
      await api.db('backups').where({ id: backup.id }).update({ status: 'failed', finished_at: new Date() });
      expect((await restore()).status).to.equal(202);
      expectRefusal(await restore(), 409, 'conflict', 'being restored');
    });

    it('keep everything else from starting until they have ended', async () => {
      await restore();
      for (const answer of [
        await post('/deploys'),
        await post('/actions', { action: 'restart' }),
        await post('/actions', { action: 'suspend' }),
        await post('/backups'),
        await workspace.owner.client.delete(`${path}/backups/${id}`),
      ]) {
        expectRefusal(answer, 409, 'conflict', 'being restored');
      }
    });

    it('must be whole', async () => {
      await api.db('backups').where({ id }).update({ status: 'failed', error: 'the disk is full' });
      expectRefusal(await restore(), 409, 'conflict', 'failed');
      expect((await get(`/backups/${id}`)).body.backup.error).to.equal('the disk is full');
    });
  });

  it('end with their service', async () => {
    await live();
    const { id } = (await post()).body.backup;
    await workspace.owner.client.delete(path, { confirm: service.name });
    expect(await api.db('backups').where({ id }).first()).to.include({ status: 'failed', sealed_key: null });
  });
});
