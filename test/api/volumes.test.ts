import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import type { VolumeRow } from '../../shared/volumes/model.js';
import { expectError, type Json, newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { makeWorker } from '../support/factories.js';
import { pretendLive } from '../support/records.js';

const UPLOADS = { name: 'uploads', mountPath: '/data', sizeGb: 1 };

describe('Volumes', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let service: Json;
  let path: string;

  useTestApi((given) => ({ api, workspace } = given));
  beforeEach(async () => {
    service = await newService(workspace.owner.client, workspace.path, { configuration: { plan: 'starter' } });
    path = `${workspace.path}/services/${service.id}`;
  });
  const post = (body: object) => workspace.owner.client.post(`${path}/volumes`, body);
  const create = async (body: object): Promise<Json> => {
    const answer = await post(body);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
    return answer.body.volume;
  };
  const list = async (): Promise<Json[]> => (await workspace.owner.client.get(`${path}/volumes`)).body.volumes;
  async function pretendMounted() {
    const deploymentId = await pretendLive(api.db, service.id);
    const hostId = uuidv7();
    await api.db<VolumeRow>('volumes').where({ service_id: service.id }).update({ host_id: hostId });
    const id = uuidv7();
    const row = { id, service_id: service.id, deployment_id: deploymentId, host_id: hostId, volume_id: service.id };
    await api.db('replicas').insert({ ...row, generation: 1, position: 1, state: 'ready' });
    return { hostId, stop: () => api.db('replicas').where({ id }).update({ state: 'stopped', desired: 'stopped' }) };
  }

  it('are created with their fields: 201, and listed', async () => {
    const { id, createdAt, ...rest } = await create(UPLOADS);
    expect(rest).to.deep.equal({ ...UPLOADS, usedBytes: 0, host: null });
    expect(Date.parse(createdAt)).to.be.within(Date.now() - 60_000, Date.now());
    expect(await list()).to.deep.equal([{ id, createdAt, ...rest }]);
  });

  it('exist for every kind that has processes of its own, and for no other', async () => {
    for (const kind of ['web', 'private', 'worker', 'cron', 'static', 'postgres', 'redis']) {
      const made = await newService(workspace.owner.client, workspace.path, { kind });
      const answer = await workspace.owner.client.post(`${workspace.path}/services/${made.id}/volumes`, UPLOADS);
      if (['web', 'private', 'worker', 'cron'].includes(kind)) expect(answer.status, kind).to.equal(201);
      else expectError(answer, 400, 'invalid_request');
    }
  });

  it('are refused while no online worker mounts any: 409 with what to install', async () => {
    const plain = await makeWorker(api.db, 1);
    await api.db('workers').where({ id: plain }).update({ mounts_volumes: false });
    const refused = await post(UPLOADS);
    expectError(refused, 409, 'conflict');
    expect(refused.body.error.message).to.contain('Install runc and conmon');
    const able = await makeWorker(api.db, 1);
    await create(UPLOADS);
    await api.db('workers').whereIn('id', [plain, able]).delete();
  });

  it('refuse paths that hide the system, relative ones and bad names: 400 with the path', async () => {
    const bad = ['/', '/etc', '/etc/app', '/proc', '/sys', '/dev/shm', '/usr/src', '/bin', '/sbin', '/lib', '/lib64/a'];
    for (const mountPath of [
      ...bad,
      '/boot',
      '/run/app',
      'data',
      './data',
      '/a/../etc',
      '/data/',
      '//data',
      '/mnt/app',
    ]) {
      const answer = await post({ ...UPLOADS, mountPath });
      expectError(answer, 400, 'invalid_request');
      expect(answer.body.error.details[0].path, mountPath).to.equal('/mountPath');
      expect(answer.body.error.message, mountPath).to.include(mountPath);
    }
    for (const name of ['', 'A', 'a b', '-a', 'a-', 'a/b', 'x'.repeat(64)]) {
      expectError(await post({ ...UPLOADS, name }), 400, 'invalid_request');
    }
    for (const sizeGb of [0, -1, 1.5, '1']) expectError(await post({ ...UPLOADS, sizeGb }), 400, 'invalid_request');
    expect(await list()).to.deep.equal([]);
  });

  it('take other paths, and none inside another', async () => {
    for (const [index, mountPath] of ['/data', '/srv/files', '/opt/x', '/var/lib/app', '/home/app/db'].entries()) {
      await create({ name: `v${index}`, mountPath, sizeGb: 1 });
    }
    const other = await newService(workspace.owner.client, workspace.path, {});
    path = `${workspace.path}/services/${other.id}`;
    await create(UPLOADS);
    for (const mountPath of ['/data/inside']) {
      expectError(await post({ name: 'b', mountPath, sizeGb: 1 }), 400, 'invalid_request');
    }
  });

  it('are refused if the name or the path is taken: 409', async () => {
    await create(UPLOADS);
    expectError(await post({ ...UPLOADS, mountPath: '/other' }), 409, 'conflict');
    expectError(await post({ ...UPLOADS, name: 'other' }), 409, 'conflict');
  });

  it('are at most five, and together at most the storage of the plan: 409', async () => {
    expectError(await post({ ...UPLOADS, sizeGb: 6 }), 409, 'capacity_exceeded');
    for (let i = 1; i <= 5; i++) await create({ name: `v${i}`, mountPath: `/data${i}`, sizeGb: 1 });
    expectError(await post(UPLOADS), 409, 'capacity_exceeded');
    const free = await workspace.owner.client.patch(path, { configuration: { plan: 'free' } });
    expectError(free, 409, 'capacity_exceeded');
  });

  it('only grow, within the plan', async () => {
    const { id } = await create({ ...UPLOADS, sizeGb: 2 });
    const resize = (sizeGb: number) => workspace.owner.client.patch(`${path}/volumes/${id}`, { sizeGb });
    expect((await resize(4)).body.volume.sizeGb).to.equal(4);
    expect((await resize(4)).body.volume.sizeGb).to.equal(4);
    expectError(await resize(3), 400, 'invalid_request');
    expectError(await resize(6), 409, 'capacity_exceeded');
    expect((await list())[0]).to.include({ sizeGb: 4 });
    const unknown = await workspace.owner.client.patch(`${path}/volumes/${uuidv7()}`, { sizeGb: 5 });
    expectError(unknown, 404, 'not_found');
  });

  it('allow one replica: 409 volume_single_replica for a volume, and for more replicas', async () => {
    const set = (configuration: object) => workspace.owner.client.patch(path, { configuration });
    await set({ replicas: 2 });
    expectError(await post(UPLOADS), 409, 'volume_single_replica');
    await set({ replicas: 1, scaling: 'auto', maxReplicas: 3 });
    expectError(await post(UPLOADS), 409, 'volume_single_replica');
    await set({ scaling: 'manual' });
    await create(UPLOADS);
    expectError(await set({ replicas: 2 }), 409, 'volume_single_replica');
    expectError(await set({ scaling: 'auto' }), 409, 'volume_single_replica');
    expect((await set({ scaling: 'auto', maxReplicas: 1 })).status).to.equal(200);
  });

  it('are deleted with confirm, and not while the service runs with them', async () => {
    const { id } = await create(UPLOADS);
    const remove = (confirm: string) => workspace.owner.client.delete(`${path}/volumes/${id}`, { confirm });
    expectError(await remove('other'), 400, 'invalid_confirmation');
    const { stop, hostId } = await pretendMounted();
    expect((await list())[0]?.host).to.equal(hostId);
    expectError(await remove('uploads'), 409, 'volume_in_use');
    await stop();
    expect((await remove('uploads')).body).to.deep.equal({ deleted: true });
    expect(await list()).to.deep.equal([]);
    // The host still has the volume's content, so the record stays until the content is gone.
    expect(await api.db<VolumeRow>('volumes').where({ id }).whereNotNull('removed_at')).to.have.length(1);
    await create(UPLOADS);
  });

  it('are deleted at once if no release has mounted them, also while the service runs', async () => {
    await create(UPLOADS);
    await pretendMounted();
    const { id } = await create({ ...UPLOADS, name: 'new', mountPath: '/new' });
    const answer = await workspace.owner.client.delete(`${path}/volumes/${id}`, { confirm: 'new' });
    expect(answer.body).to.deep.equal({ deleted: true });
    expect(await api.db<VolumeRow>('volumes').where({ id })).to.have.length(0);
  });

  it('make the deletion of their service wait for a worker', async () => {
    await create(UPLOADS);
    const { stop } = await pretendMounted();
    await stop();
    const { body } = await workspace.owner.client.delete(path, { confirm: service.name });
    expect(body).to.include({ deleted: false, queued: true });
  });

  it('are audited', async () => {
    const { id } = await create(UPLOADS);
    await workspace.owner.client.patch(`${path}/volumes/${id}`, { sizeGb: 2 });
    await workspace.owner.client.delete(`${path}/volumes/${id}`, { confirm: 'uploads' });
    const { body } = await workspace.owner.client.get(`${workspace.path}/audit?limit=3`);
    const operations = body.entries.map((entry: Json) => entry.operation);
    expect(operations).to.deep.equal(['volume.delete', 'volume.update', 'volume.create']);
  });
});
