import { expect } from 'chai';
import { Keyring } from '../../shared/secrets/keyring.js';
import {
  type Client,
  expectError,
  type Json,
  newService,
  type TestApi,
  type TestWorkspace,
  useTestApi,
} from '../support/api.js';
import { addEnvironment, link, newGroup, newProject } from '../support/places.js';
import { snapshotValues } from '../support/records.js';

const REPOSITORY = { repository: 'https://example.com/shop.git' };

describe('Environment groups', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let client: Client;
  let groups: string;
  let project: Json;

  useTestApi(async (given) => {
    ({ api, workspace } = given);
    client = workspace.owner.client;
    groups = `${workspace.path}/environment-groups`;
    project = await newProject(client, workspace.path);
  });

  const environmentGroupIds = async ({ id }: Json): Promise<string[]> =>
    (await client.get(`${workspace.path}/services/${id}`)).body.service.environmentGroupIds;

  it('are created for one environment or for the whole workspace: 201', async () => {
    const { environmentId } = project.placement;
    const { status, body } = await client.post(groups, { name: ' Database ', environmentId });
    expect(status).to.equal(201);
    expect(body.environmentGroup).to.deep.include({ name: 'Database', environmentId, serviceIds: [] });
    const wide = await client.post(groups, { name: 'Wide' });
    expect(wide.body.environmentGroup.environmentId).to.equal(null);
    expect((await client.get(`${groups}/${body.environmentGroup.id}`)).body).to.deep.equal(body);

    const other = await api.workspace();
    const foreign = await newProject(other.owner.client, other.path);
    const refused = [
      {},
      { name: ' ' },
      { name: 'x', environmentId: project.id },
      { name: 'x', environmentId: foreign.placement.environmentId },
      { name: 'x', environmentId: `urn:uuid:${environmentId}` },
      { name: 'x', environmentId: '' },
      { name: 'x', serviceIds: [] },
    ];
    for (const fields of refused) expectError(await client.post(groups, fields), 400, 'invalid_request');
  });

  it('are listed completely without limit or cursor, else in pages, newest first', async () => {
    const other = await api.workspace();
    const made: string[] = [];
    for (let i = 0; i < 3; i++) made.unshift((await newGroup(other.owner.client, other.path)).id);
    const path = `${other.path}/environment-groups`;
    const ids = (body: Json) => body.environmentGroups.map((group: Json) => group.id);
    const complete = await other.owner.reader.get(path);
    expect(ids(complete.body)).to.deep.equal(made);
    expect(complete.body).to.not.have.property('page');
    const first = await other.owner.reader.get(`${path}?limit=2`);
    expect(first.body.page).to.deep.include({ limit: 2, hasMore: true });
    const rest = await other.owner.reader.get(`${path}?limit=2&cursor=${first.body.page.nextCursor}`);
    expect(rest.body.page).to.deep.equal({ limit: 2, hasMore: false, nextCursor: null });
    expect([...ids(first.body), ...ids(rest.body)]).to.deep.equal(made);
  });

  it('of another workspace are not found', async () => {
    const other = await api.workspace();
    const foreign = await newGroup(other.owner.client, other.path);
    for (const id of [foreign.id, 'nonsense']) {
      const path = `${groups}/${id}`;
      expectError(await client.get(path), 404, 'not_found');
      expectError(await client.patch(path, { name: 'x' }), 404, 'not_found');
      expectError(await client.delete(path), 404, 'not_found');
      expectError(await client.post(`${path}/services`, { serviceId: foreign.id }), 404, 'not_found');
      expectError(await client.get(`${path}/variables`), 404, 'not_found');
      expectError(await client.post(`${path}/variables`, { key: 'A', value: '' }), 404, 'not_found');
    }
  });

  it('are read by viewers and written by developers', async () => {
    const group = await newGroup(client, workspace.path);
    const viewer = await workspace.member('viewer');
    expect((await viewer.client.get(group.path)).status).to.equal(200);
    expectError(await viewer.client.post(groups, { name: 'x' }), 403, 'forbidden');
    expectError(await viewer.client.post(`${group.path}/variables`, { key: 'A', value: '' }), 403, 'forbidden');
    const developer = await workspace.member('developer');
    expect((await developer.client.patch(group.path, { name: 'Renamed' })).body.environmentGroup.name).to.equal(
      'Renamed',
    );
  });

  it('link any service of the workspace, and both sides show it', async () => {
    const group = await newGroup(client, workspace.path);
    const placed = await newService(client, workspace.path, project.placement);
    const free = await newService(client, workspace.path);
    await link(client, group, placed);
    await link(client, group, free);
    const { body } = await client.post(`${group.path}/services`, { serviceId: free.id.toUpperCase() });
    expect(body.environmentGroup.serviceIds).to.have.members([placed.id, free.id]).and.to.have.length(2);
    expect(await environmentGroupIds(free)).to.deep.equal([group.id]);

    const unlinked = await client.delete(`${group.path}/services/${placed.id}`);
    expect(unlinked.body.environmentGroup.serviceIds).to.deep.equal([free.id]);
    expectError(await client.delete(`${group.path}/services/${placed.id}`), 404, 'not_found');
    expect(await environmentGroupIds(placed)).to.deep.equal([]);

    const other = await api.workspace();
    const foreign = await newService(other.owner.client, other.path);
    for (const serviceId of [foreign.id, project.id, 'x', '', null, undefined]) {
      expectError(await client.post(`${group.path}/services`, { serviceId }), 400, 'invalid_request');
    }
  });

  it('scoped to an environment link only services of that environment', async () => {
    const group = await newGroup(client, workspace.path, { environmentId: project.placement.environmentId });
    const staging = await addEnvironment(client, project);
    const inside = await newService(client, workspace.path, project.placement);
    const beside = await newService(client, workspace.path, staging.placement);
    const free = await newService(client, workspace.path);
    await link(client, group, inside);
    for (const service of [beside, free]) {
      expectError(await client.post(`${group.path}/services`, { serviceId: service.id }), 409, 'conflict');
      expect(await environmentGroupIds(service)).to.deep.equal([]);
    }
  });

  it('change their environment only if their links stay valid', async () => {
    const staging = await addEnvironment(client, project);
    const group = await newGroup(client, workspace.path);
    const service = await newService(client, workspace.path, { name: 'linked one', ...staging.placement });
    await link(client, group, service);
    const refused = await client.patch(group.path, { environmentId: project.placement.environmentId });
    expectError(refused, 409, 'conflict');
    expect(refused.body.error.message).to.contain('"linked one"');
    const confined = await client.patch(group.path, { environmentId: staging.id.toUpperCase() });
    expect(confined.body.environmentGroup).to.include({ name: group.name, environmentId: staging.id });
    const renamed = await client.patch(group.path, { name: 'Kept' });
    expect(renamed.body.environmentGroup).to.include({ name: 'Kept', environmentId: staging.id });
    const widened = await client.patch(group.path, { environmentId: null });
    expect(widened.body.environmentGroup.environmentId).to.equal(null);
    expectError(await client.patch(group.path, { environmentId: project.id }), 400, 'invalid_request');
  });

  it('are linked and confined, and their services moved, at the same time without an invalid link', async () => {
    for (let round = 0; round < 5; round++) {
      const staging = await addEnvironment(client, project);
      const group = await newGroup(client, workspace.path);
      const service = await newService(client, workspace.path, project.placement);
      await Promise.all([
        client.post(`${group.path}/services`, { serviceId: service.id }),
        client.patch(group.path, { environmentId: project.placement.environmentId }),
        client.patch(`${workspace.path}/services/${service.id}`, staging.placement),
      ]);
      const { environmentGroup } = (await client.get(group.path)).body;
      const moved = (await client.get(`${workspace.path}/services/${service.id}`)).body.service;
      const linked = environmentGroup.serviceIds.length > 0;
      const valid =
        !linked || environmentGroup.environmentId === null || environmentGroup.environmentId === moved.environmentId;
      expect(valid, JSON.stringify({ environmentGroup, moved })).to.equal(true);
    }
  });

  it('are deleted with their links and variables', async () => {
    const group = await newGroup(client, workspace.path);
    const service = await newService(client, workspace.path);
    await link(client, group, service);
    await client.post(`${group.path}/variables`, { key: 'A', value: '1' });
    expect((await client.delete(group.path)).body).to.deep.equal({ deleted: true });
    expectError(await client.get(group.path), 404, 'not_found');
    expect(await environmentGroupIds(service)).to.deep.equal([]);
    expect(await api.db('variables').where({ group_id: group.id })).to.deep.equal([]);
  });

  describe('variables', () => {
    it('are encrypted and masked, listed, replaced and deleted exactly as those of a service', async () => {
      const group = await newGroup(client, workspace.path);
      const path = `${group.path}/variables`;
      const { status, body } = await client.post(path, { key: 'TOKEN', value: 'a very secret value' });
      expect(status).to.equal(201);
      expect(body.variable).to.include({ key: 'TOKEN', kind: 'variable', configured: true, value: null });
      const row = await api.db('variables').where({ id: body.variable.id }).first();
      expect(row.sealed.toString('latin1')).to.not.contain('secret');
      expectError(await client.post(path, { key: 'TOKEN', value: '' }), 409, 'conflict');

      const provider = await newService(client, workspace.path);
      const reference = { serviceId: provider.id, key: 'HOST' };
      expect((await client.post(path, { key: 'API', reference })).body.variable.kind).to.equal('reference');
      for (const fields of [{ key: 'B' }, { key: 'B', value: '', reference }, { key: 'b-b', value: '' }]) {
        expectError(await client.post(path, fields), 400, 'invalid_request');
      }

      const complete = await client.get(path);
      expect(complete.body.variables.map((variable: Json) => variable.key)).to.deep.equal(['API', 'TOKEN']);
      const first = await client.get(`${path}?limit=1`);
      const second = await client.get(`${path}?limit=1&cursor=${first.body.page.nextCursor}`);
      expect(second.body.variables.map((variable: Json) => variable.key)).to.deep.equal(['TOKEN']);

      const one = `${path}/${body.variable.id}`;
      expect((await client.patch(one, { reference })).body.variable.kind).to.equal('reference');
      const other = await newGroup(client, workspace.path);
      expectError(await client.delete(`${other.path}/variables/${body.variable.id}`), 404, 'not_found');
      expectError(
        await client.delete(`${workspace.path}/services/${provider.id}/variables/${body.variable.id}`),
        404,
        'not_found',
      );
      expect((await client.delete(one)).body).to.deep.equal({ deleted: true });
    });

    it('reach the deployments of linked services, sealed: own variables over those of groups, the later link first', async () => {
      const api_ = await newService(client, workspace.path, { name: 'Group api', configuration: { port: 4567 } });
      await client.post(`${workspace.path}/services/${api_.id}/variables`, { key: 'PASSWORD', value: 'of the api' });
      const service = await newService(client, workspace.path, { configuration: REPOSITORY });
      const path = `${workspace.path}/services/${service.id}`;
      const earlier = await newGroup(client, workspace.path);
      const later = await newGroup(client, workspace.path);
      const unlinked = await newGroup(client, workspace.path);
      const set = async (at: string, key: string, content: Json) => {
        const response = await client.post(`${at}/variables`, { key, ...content });
        expect(response.status).to.equal(201);
      };
      await set(earlier.path, 'FIRST', { value: 'earlier' });
      await set(earlier.path, 'SECOND', { value: 'earlier' });
      await set(earlier.path, 'API_URL', { reference: { serviceId: api_.id, key: 'URL' } });
      await set(earlier.path, 'API_PORT', { reference: { serviceId: api_.id, key: 'PORT' } });
      await set(earlier.path, 'API_PASSWORD', { reference: { serviceId: api_.id, key: 'PASSWORD' } });
      await set(later.path, 'SECOND', { value: 'later' });
      await set(later.path, 'THIRD', { value: 'later' });
      await set(path, 'THIRD', { value: 'own' });
      await set(unlinked.path, 'FOURTH', { value: 'never' });
      await link(client, earlier, service);
      await link(client, later, service);

      const snapshot = async () => {
        const { body } = await client.post(`${path}/deploys`);
        const row = await api.db('deployments').where({ id: body.deployment.id }).first();
        const keyring = new Keyring(api.config.secretsKey);
        return snapshotValues(api.db, keyring, row);
      };
      expect(await snapshot()).to.deep.equal({
        FIRST: 'earlier',
        SECOND: 'later',
        THIRD: 'own',
        API_URL: 'http://group-api.localhost:8080',
        API_PORT: '4567',
        API_PASSWORD: 'of the api',
      });
      await client.delete(`${later.path}/services/${service.id}`);
      expect(await snapshot()).to.include({ SECOND: 'earlier', THIRD: 'own' });
    });

    it('that refer to an archived service keep a deployment from being queued', async () => {
      const provider = await newService(client, workspace.path, { name: 'Gone away' });
      const service = await newService(client, workspace.path, { configuration: REPOSITORY });
      const group = await newGroup(client, workspace.path);
      await client.post(`${group.path}/variables`, { key: 'API', reference: { serviceId: provider.id, key: 'HOST' } });
      await link(client, group, service);
      await client.post(`${workspace.path}/services/${provider.id}/archive`);
      const response = await client.post(`${workspace.path}/services/${service.id}/deploys`);
      expectError(response, 400, 'source_invalid');
      expect(response.body.error.message).to.contain('API').and.to.contain('Gone away');
    });
  });
});
