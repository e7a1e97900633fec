import { expect } from 'chai';
import { PROJECT_COLORS } from '../../api/resources/projects/store.js';
import { expectError, type Json, newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { addEnvironment, newGroup, newProject } from '../support/places.js';
import { pretendLive } from '../support/records.js';

describe('Projects', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let projects: string;

  useTestApi(async (given) => {
    ({ api, workspace } = given);
    projects = `${workspace.path}/projects`;
  });

  it('are at most 1000 in a workspace, with at most 100 environments each', async () => {
    const other = await api.workspace();
    const project = await newProject(other.owner.client, other.path);
    await api.db.raw(
      `insert into projects (id, workspace_id, name, color)
       select gen_random_uuid(), ?, 'bulk', 'red' from generate_series(1, 999)`,
      [other.id],
    );
    await api.db.raw(
      `insert into environments (id, workspace_id, project_id, name, protected)
       select gen_random_uuid(), ?, ?, 'bulk ' || n, false from generate_series(1, 99) n`,
      [other.id, project.id],
    );
    expectError(
      await other.owner.client.post(`${other.path}/projects`, { name: 'One more', color: 'red' }),
      409,
      'capacity_exceeded',
    );
    const environments = `${other.path}/projects/${project.id}/environments`;
    expectError(await other.owner.client.post(environments, { name: 'One more' }), 409, 'capacity_exceeded');
  });

  describe('list', () => {
    it('without limit or cursor returns the complete list, newest first, and no page', async () => {
      const other = await api.workspace();
      const made: string[] = [];
      for (let i = 0; i < 3; i++) made.unshift((await newProject(other.owner.client, other.path)).id);
      const { body } = await other.owner.client.get(`${other.path}/projects`);
      expect(body.projects.map((project: Json) => project.id)).to.deep.equal(made);
      expect(body).to.not.have.property('page');
    });

    it('without limit or cursor is complete beyond the largest page', async () => {
      const other = await api.workspace();
      await api.db.raw(
        `insert into projects (id, workspace_id, name, color)
         select gen_random_uuid(), ?, 'bulk', 'red' from generate_series(1, 201)`,
        [other.id],
      );
      const { body } = await other.owner.client.get(`${other.path}/projects`);
      expect(body.projects).to.have.length(201);
      const largest = await other.owner.client.get(`${other.path}/projects?limit=200`);
      expect(largest.body.projects).to.have.length(200);
      expect(largest.body.page).to.deep.include({ limit: 200, hasMore: true });
    });

    it('with limit or cursor pages, each project once, limit from 1 to 200, 100 by default', async () => {
      const other = await api.workspace();
      const made: string[] = [];
      for (let i = 0; i < 3; i++) made.unshift((await newProject(other.owner.client, other.path)).id);
      const path = `${other.path}/projects`;
      const first = await other.owner.client.get(`${path}?limit=2`);
      expect(first.body.page).to.deep.include({ limit: 2, hasMore: true });
      const second = await other.owner.client.get(`${path}?cursor=${encodeURIComponent(first.body.page.nextCursor)}`);
      expect(second.body.page).to.deep.equal({ limit: 100, hasMore: false, nextCursor: null });
      const seen = [...first.body.projects, ...second.body.projects].map((project: Json) => project.id);
      expect(seen).to.deep.equal(made);
      for (const limit of ['0', '201', 'x', '']) {
        expectError(await other.owner.client.get(`${path}?limit=${limit}`), 400, 'invalid_request');
      }
    });

    it('refuses a cursor of another collection', async () => {
      for (let i = 0; i < 2; i++) await newService(workspace.owner.client, workspace.path);
      const { body } = await workspace.owner.client.get(`${workspace.path}/services?limit=1`);
      const response = await workspace.owner.client.get(`${projects}?cursor=${body.page.nextCursor}`);
      expectError(response, 400, 'invalid_cursor');
    });
  });

  describe('create', () => {
    it('stores the project and its Production environment: 201', async () => {
      const { status, body } = await workspace.owner.client.post(projects, {
        name: '  Shop ',
        color: 'blue',
        description: 'All of it',
      });
      expect(status).to.equal(201);
      expect(body.project).to.include({ name: 'Shop', color: 'blue', description: 'All of it' });
      expect(body.project.environments).to.have.length(1);
      expect(body.project.environments[0]).to.include({ name: 'Production', protected: false });
    });

    it('needs name and color; the description is empty by default', async () => {
      const { body } = await workspace.owner.client.post(projects, { name: 'Plain', color: 'gray' });
      expect(body.project.description).to.equal('');
      const refused: [Json, string][] = [
        [{ color: 'blue' }, '/name'],
        [{ name: 'x' }, '/color'],
        [{ name: '', color: 'blue' }, '/name'],
        [{ name: ' ', color: 'blue' }, '/name'],
        [{ name: 'x'.repeat(101), color: 'blue' }, '/name'],
        [{ name: 'x', color: '#8b5cf6' }, '/color'],
        [{ name: 'x', color: 'blue', description: 'x'.repeat(2001) }, '/description'],
        [{ name: 'x', color: 'blue', environments: [] }, '/environments'],
      ];
      for (const [fields, path] of refused) {
        const response = await workspace.owner.client.post(projects, fields);
        expectError(response, 400, 'invalid_request');
        expect(response.body.error.details[0].path).to.equal(path);
      }
      const longest = { name: 'x'.repeat(100), color: 'blue', description: 'x'.repeat(2000) };
      expect((await workspace.owner.client.post(projects, longest)).status).to.equal(201);
    });

    it('takes every color of the set', async () => {
      for (const color of PROJECT_COLORS) {
        expect((await newProject(workspace.owner.client, workspace.path, { color })).color).to.equal(color);
      }
    });

    it('takes a developer with a write key', async () => {
      const body = { name: 'x', color: 'blue' };
      expectError(await (await workspace.member('viewer')).client.post(projects, body), 403, 'forbidden');
      const developer = await workspace.member('developer');
      expectError(await developer.reader.post(projects, body), 403, 'forbidden');
      expect((await developer.client.post(projects, body)).status).to.equal(201);
    });

    it('replays the first answer to the same Idempotency-Key', async () => {
      const headers = { 'Idempotency-Key': 'a-project' };
      const body = { name: 'Once', color: 'blue' };
      const first = await workspace.owner.client.post(projects, body, headers);
      const again = await workspace.owner.client.post(projects, body, headers);
      expect(again.body).to.deep.equal(first.body);
      expect(again.headers.get('idempotency-replayed')).to.equal('true');
      expect(await api.db('projects').where({ name: 'Once' })).to.have.length(1);
    });
  });

  it('are read one by one; those of another workspace are not found', async () => {
    const project = await newProject(workspace.owner.client, workspace.path);
    const viewer = await workspace.member('viewer');
    const { body } = await viewer.reader.get(project.path);
    expect(body.project).to.deep.include({ id: project.id, environments: project.environments });
    const other = await api.workspace();
    const foreign = await newProject(other.owner.client, other.path);
    for (const id of [foreign.id, '00000000-0000-4000-8000-000000000000', 'nonsense']) {
      const path = `${projects}/${id}`;
      expectError(await workspace.owner.client.get(path), 404, 'not_found');
      expectError(await workspace.owner.client.patch(path, { name: 'x' }), 404, 'not_found');
      expectError(await workspace.owner.client.delete(path, { confirm: foreign.name }), 404, 'not_found');
    }
  });

  describe('change', () => {
    it('sets the fields that are sent and no other', async () => {
      const project = await newProject(workspace.owner.client, workspace.path, { name: 'Before', description: 'old' });
      const described = await workspace.owner.client.patch(project.path, { description: 'new' });
      expect(described.body.project).to.include({ name: 'Before', color: 'violet', description: 'new' });
      const named = await workspace.owner.client.patch(project.path, { name: 'After ', color: 'red' });
      expect(named.body.project).to.include({ name: 'After', color: 'red', description: 'new' });
      expect(named.body.project.environments).to.deep.equal(project.environments);
      for (const fields of [{ name: '' }, { color: 'mauve' }, { id: project.id }, { description: null }]) {
        expectError(await workspace.owner.client.patch(project.path, fields), 400, 'invalid_request');
      }
    });
  });

  describe('delete', () => {
    it('takes an admin or owner', async () => {
      const project = await newProject(workspace.owner.client, workspace.path);
      const confirm = { confirm: project.name };
      const developer = await workspace.member('developer');
      expectError(await developer.client.delete(project.path, confirm), 403, 'forbidden');
      const admin = await workspace.member('admin');
      expect((await admin.client.delete(project.path, confirm)).body).to.deep.equal({ deleted: true });
      const second = await newProject(workspace.owner.client, workspace.path);
      expect((await workspace.owner.client.delete(second.path, { confirm: second.name })).status).to.equal(200);
    });

    it('needs the exact name', async () => {
      const project = await newProject(workspace.owner.client, workspace.path, { name: 'Precious' });
      for (const confirm of ['precious', 'Precious ', '']) {
        expectError(await workspace.owner.client.delete(project.path, { confirm }), 400, 'invalid_confirmation');
      }
      expectError(await workspace.owner.client.delete(project.path), 400, 'invalid_request');
      expect((await workspace.owner.client.get(project.path)).status).to.equal(200);
    });

    it('is refused, naming what is left, until its services and scoped environment groups have gone', async () => {
      const { client } = workspace.owner;
      const project = await newProject(client, workspace.path);
      const staging = await addEnvironment(client, project);
      const service = await newService(client, workspace.path, { name: 'left over', ...project.placement });
      const group = await newGroup(client, workspace.path, { name: 'settings', environmentId: staging.id });
      const remove = () => client.delete(project.path, { confirm: project.name });
      const both = await remove();
      expectError(both, 409, 'conflict');
      expect(both.body.error.message).to.contain('"left over"').and.to.contain('"settings"');

      await client.post(`${workspace.path}/services/${service.id}/archive`);
      expectError(await remove(), 409, 'conflict');
      await client.delete(`${workspace.path}/services/${service.id}`, { confirm: service.name });
      const one = await remove();
      expectError(one, 409, 'conflict');
      expect(one.body.error.message).to.contain('"settings"').and.to.not.contain('left over');

      await client.delete(group.path);
      expect((await remove()).body).to.deep.equal({ deleted: true });
      expectError(await client.get(project.path), 404, 'not_found');
      expect(await api.db('environments').where({ project_id: project.id })).to.deep.equal([]);
    });

    it('waits for the end of a deletion that is queued', async () => {
      const { client } = workspace.owner;
      const project = await newProject(client, workspace.path);
      const service = await newService(client, workspace.path, project.placement);
      await pretendLive(api.db, service.id);
      await client.delete(`${workspace.path}/services/${service.id}`, { confirm: service.name });
      expectError(await client.delete(project.path, { confirm: project.name }), 409, 'conflict');
    });

    it('does not count groups of the whole workspace', async () => {
      const { client } = workspace.owner;
      const project = await newProject(client, workspace.path);
      await newGroup(client, workspace.path);
      expect((await client.delete(project.path, { confirm: project.name })).status).to.equal(200);
    });

    it('never leaves a service behind that is placed in it at the same time', async () => {
      const { client } = workspace.owner;
      for (let round = 0; round < 5; round++) {
        const project = await newProject(client, workspace.path);
        const [placed, deleted] = await Promise.all([
          client.post(`${workspace.path}/services`, { name: 'racing', kind: 'web', ...project.placement }),
          client.delete(project.path, { confirm: project.name }),
        ]);
        expect([placed.status, deleted.status]).to.be.deep.oneOf([
          [201, 409],
          [400, 200],
        ]);
      }
    });
  });
});
