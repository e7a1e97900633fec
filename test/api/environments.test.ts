import { expect } from 'chai';
import type { Db } from '../../shared/core/database/database-client.js';
import {
  expectError,
  type Json,
  type Member,
  newService,
  type TestApi,
  type TestWorkspace,
  useTestApi,
} from '../support/api.js';
import { addEnvironment, link, newGroup, newProject } from '../support/places.js';
import { eventually } from '../support/processes.js';
import { newDeployment, pretendLive } from '../support/records.js';

describe('Environments', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let project: Json;
  let environments: string;
  let developer: Member;
  let admin: Member;

  useTestApi(async (given) => {
    ({ api, workspace } = given);
    developer = await workspace.member('developer');
    admin = await workspace.member('admin');
  });
  beforeEach(async () => {
    project = await newProject(workspace.owner.client, workspace.path);
    environments = `${project.path}/environments`;
  });

  it('are added to a project, which shows them: 201', async () => {
    const { status, body } = await developer.client.post(environments, { name: ' Staging ' });
    expect(status).to.equal(201);
    expect(body.environment).to.include({ name: 'Staging', protected: false });
    const read = await developer.client.get(project.path);
    expect(read.body.project.environments).to.deep.equal([...project.environments, body.environment]);
  });

  it('have a name of their own within the project', async () => {
    expectError(await developer.client.post(environments, { name: 'Production' }), 409, 'conflict');
    const staging = await addEnvironment(developer.client, project, { name: 'Staging' });
    expectError(await developer.client.patch(staging.path, { name: ' Production' }), 409, 'conflict');
    expect((await developer.client.patch(staging.path, { name: 'Staging' })).status).to.equal(200);
    for (const body of [{}, { name: ' ' }, { name: 'x'.repeat(101) }, { name: 'x', protected: 'yes' }, { name: 1 }]) {
      expectError(await developer.client.post(environments, body), 400, 'invalid_request');
    }
    const responses = await Promise.all(
      Array.from({ length: 4 }, () => developer.client.post(environments, { name: 'Race' })),
    );
    expect(responses.map(({ status }) => status).sort()).to.deep.equal([201, 409, 409, 409]);
  });

  it('are changed and deleted only under their own project', async () => {
    const other = await newProject(workspace.owner.client, workspace.path);
    const elsewhere = `${other.path}/environments/${project.environments[0].id}`;
    expectError(await admin.client.patch(elsewhere, { name: 'x' }), 404, 'not_found');
    expectError(await admin.client.delete(elsewhere), 404, 'not_found');
    const stranger = await api.workspace();
    const foreign = await newProject(stranger.owner.client, stranger.path);
    const path = `${workspace.path}/projects/${foreign.id}/environments`;
    expectError(await admin.client.post(path, { name: 'x' }), 404, 'not_found');
    expectError(await admin.client.patch(`${path}/${foreign.environments[0].id}`, {}), 404, 'not_found');
  });

  it('are deleted once they are empty', async () => {
    const staging = await addEnvironment(developer.client, project, { name: 'Staging' });
    const service = await newService(developer.client, workspace.path, { name: 'inside', ...staging.placement });
    const group = await newGroup(developer.client, workspace.path, { name: 'settings', environmentId: staging.id });
    const full = await developer.client.delete(staging.path);
    expectError(full, 409, 'conflict');
    expect(full.body.error.message).to.contain('"inside"').and.to.contain('"settings"');
    await developer.client.delete(group.path);
    expectError(await developer.client.delete(staging.path), 409, 'conflict');
    await developer.client.delete(`${workspace.path}/services/${service.id}`, { confirm: 'inside' });
    expect((await developer.client.delete(staging.path)).body).to.deep.equal({ deleted: true });
    expectError(await developer.client.delete(staging.path), 404, 'not_found');
  });

  it('the last one of a project cannot be deleted, not even by two at once', async () => {
    const production = `${environments}/${project.environments[0].id}`;
    expectError(await admin.client.delete(production), 409, 'conflict');
    const staging = await addEnvironment(admin.client, project);
    const responses = await Promise.all([admin.client.delete(production), admin.client.delete(staging.path)]);
    expect(responses.map(({ status }) => status).sort()).to.deep.equal([200, 409]);
  });

  describe('protected', () => {
    let guarded: Json;
    let service: Json;
    let path: string;

    beforeEach(async () => {
      guarded = await addEnvironment(admin.client, project, { protected: true });
      const configuration = { repository: 'https://example.com/shop.git' };
      service = await newService(admin.client, workspace.path, { configuration, ...guarded.placement });
      path = `${workspace.path}/services/${service.id}`;
    });

    it('setting and removing protection takes an admin', async () => {
      expectError(await developer.client.post(environments, { name: 'Vault', protected: true }), 403, 'forbidden');
      const open = await addEnvironment(developer.client, project);
      expectError(await developer.client.patch(open.path, { protected: true }), 403, 'forbidden');
      expect((await developer.client.patch(open.path, { protected: false })).status).to.equal(200);
      const { body } = await admin.client.patch(open.path, { protected: true });
      expect(body.environment.protected).to.equal(true);
      expectError(await developer.client.patch(open.path, { protected: false }), 403, 'forbidden');
      expect((await admin.client.patch(open.path, { protected: false })).body.environment.protected).to.equal(false);
    });

    it('renaming and deleting them takes an admin', async () => {
      expectError(await developer.client.patch(guarded.path, { name: 'x' }), 403, 'forbidden');
      expectError(await developer.client.delete(guarded.path), 403, 'forbidden');
      expect((await admin.client.patch(guarded.path, { name: 'x' })).body.environment.protected).to.equal(true);
    });

    it('every write to a service in them takes an admin', async () => {
      const live = await pretendLive(api.db, service.id);
      const queued = await newDeployment(api.db, service.id);
      const variable = await admin.client.post(`${path}/variables`, { key: 'KEPT', value: '1' });
      const variablePath = `${path}/variables/${variable.body.variable.id}`;
      const confirm = service.name;
      const writes: [method: string, path: string, body: Json][] = [
        ['POST', `${workspace.path}/services`, { name: 'x', kind: 'web', ...guarded.placement }],
        ['PATCH', path, { configuration: { port: 1234 } }],
        ['PATCH', path, { projectId: null, environmentId: null }],
        ['PATCH', path, project.placement],
        ['POST', `${path}/archive`, {}],
        ['POST', `${path}/restore`, {}],
        ['DELETE', path, { confirm }],
        ['POST', `${path}/deploys`, {}],
        ['POST', `${path}/deploys/${queued}/cancel`, {}],
        ['POST', `${path}/deploys/${live}/rollback`, { confirm }],
        ...['restart', 'suspend', 'resume', 'deploy', 'clear-cache'].map((action): [string, string, Json] => [
          'POST',
          `${path}/actions`,
          { action },
        ]),
        ['POST', `${path}/variables`, { key: 'A', value: '1' }],
        ['PATCH', variablePath, { value: '2' }],
        ['DELETE', variablePath, {}],
      ];
      for (const [method, at, body] of writes) {
        expectError(await developer.client.send(method, at, body), 403, 'forbidden');
      }
      const { body } = await developer.client.get(path);
      expect(body.service).to.include({ archived: false, environmentId: guarded.id, liveDeploymentId: live });
      expect((await admin.client.post(`${path}/deploys/${queued}/cancel`)).status).to.equal(200);
    });

    it('every write that waits for a move into them takes an admin', async () => {
      const moved = await newService(developer.client, workspace.path, {
        ...project.placement,
        configuration: { repository: 'https://example.com/shop.git' },
      });
      const path = `${workspace.path}/services/${moved.id}`;
      const before = await api.db('services').where({ id: moved.id }).first();
      const trx = await api.db.transaction();
      await trx('services').where({ id: moved.id }).update({ environment_id: guarded.id });
      const writes = Promise.all([
        developer.client.patch(path, { name: 'x' }),
        developer.client.post(`${path}/archive`),
        developer.client.post(`${path}/deploys`),
        developer.client.post(`${path}/variables`, { key: 'A', value: '1' }),
      ]);
      await eventually('all of them wait', async () => (await waiting(api.db)) === 4).finally(() => trx.commit());
      for (const answer of await writes) expectError(answer, 403, 'forbidden');
      const after = await api.db('services').where({ id: moved.id }).first();
      expect(after).to.deep.equal({ ...before, environment_id: guarded.id });
    });

    it('every write to a group with a service in them takes an admin', async () => {
      const confined = await newGroup(admin.client, workspace.path, { environmentId: guarded.id });
      const shared = await newGroup(admin.client, workspace.path);
      const body = { name: 'x', environmentId: guarded.id };
      expectError(await developer.client.post(`${workspace.path}/environment-groups`, body), 403, 'forbidden');
      expectError(await developer.client.patch(shared.path, { environmentId: guarded.id }), 403, 'forbidden');
      const linking = { serviceId: service.id };
      expectError(await developer.client.post(`${shared.path}/services`, linking), 403, 'forbidden');

      await link(admin.client, shared, service);
      for (const group of [confined, shared]) {
        const writes: [method: string, path: string, body: Json][] = [
          ['PATCH', group.path, { name: 'x' }],
          ['PATCH', group.path, { environmentId: null }],
          ['DELETE', group.path, {}],
          ['POST', `${group.path}/services`, linking],
          ['DELETE', `${group.path}/services/${service.id}`, {}],
          ['POST', `${group.path}/variables`, { key: 'A', value: '1' }],
        ];
        for (const [method, at, body] of writes) {
          expectError(await developer.client.send(method, at, body), 403, 'forbidden');
        }
        expect((await developer.client.get(group.path)).status).to.equal(200);
        expect((await admin.client.post(`${group.path}/variables`, { key: 'A', value: '1' })).status).to.equal(201);
      }
    });
  });

  describe('moves', () => {
    const move = (service: Json, placement: Json) =>
      developer.client.patch(`${workspace.path}/services/${service.id}`, placement);

    it('take both project and environment, or both null, beside configuration', async () => {
      const to = await addEnvironment(developer.client, project);
      const service = await newService(developer.client, workspace.path, project.placement);
      const { body } = await move(service, { ...to.placement, configuration: { port: 4321 } });
      expect(body.service).to.include(to.placement);
      expect(body.service.configuration.port).to.equal(4321);
      const nowhere = { projectId: null, environmentId: null };
      expect((await move(service, nowhere)).body.service).to.include(nowhere);
      const other = await newProject(developer.client, workspace.path);
      const refused = [
        { projectId: project.id },
        { environmentId: to.id },
        { projectId: other.id, environmentId: to.id },
        { projectId: project.id, environmentId: other.id },
      ];
      for (const placement of refused) expectError(await move(service, placement), 400, 'invalid_request');
    });

    it('preserve valid variable-group scope: a group of another environment is a conflict that names it', async () => {
      const to = await addEnvironment(developer.client, project);
      const service = await newService(developer.client, workspace.path, project.placement);
      const { environmentId } = project.placement;
      const first = await newGroup(developer.client, workspace.path, { name: 'first settings', environmentId });
      const second = await newGroup(developer.client, workspace.path, { name: 'second settings', environmentId });
      const wide = await newGroup(developer.client, workspace.path, { name: 'wide settings' });
      for (const group of [first, second, wide]) await link(developer.client, group, service);
      for (const placement of [to.placement, { projectId: null, environmentId: null }]) {
        const response = await move(service, placement);
        expectError(response, 409, 'conflict');
        expect(response.body.error.message).to.contain('first settings').and.to.contain('second settings');
        expect(response.body.error.message).to.not.contain('wide settings');
      }
      expect((await move(service, project.placement)).status).to.equal(200);
      for (const group of [first, second]) await developer.client.delete(`${group.path}/services/${service.id}`);
      const { body } = await move(service, to.placement);
      expect(body.service).to.deep.include({ ...to.placement, environmentGroupIds: [wide.id] });
    });

    it('into or out of a protected environment take an admin', async () => {
      const guarded = await addEnvironment(admin.client, project, { protected: true });
      const service = await newService(developer.client, workspace.path, project.placement);
      expectError(await move(service, guarded.placement), 403, 'forbidden');
      const path = `${workspace.path}/services/${service.id}`;
      expect((await admin.client.patch(path, guarded.placement)).status).to.equal(200);
      expectError(await move(service, project.placement), 403, 'forbidden');
      expect((await admin.client.patch(path, project.placement)).status).to.equal(200);
    });
  });
});

async function waiting(db: Db): Promise<number> {
  const { rows } = await db.raw(
    `select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows[0].count;
}
