import { expect } from 'chai';
import { DEFAULT_CONFIGURATION } from '../../shared/services/configuration.js';
import { expectError, newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { newEnvironment, pretendLive } from '../support/records.js';

describe('Services', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let services: string;

  useTestApi((given) => {
    ({ api, workspace } = given);
    services = `${workspace.path}/services`;
  });

  describe('create', () => {
    it('stores configuration only, over the defaults of the catalog', async () => {
      const { body } = await workspace.owner.client.post(services, {
        name: '  My Shop ',
        kind: 'web',
        configuration: { port: 3000, repository: 'https://example.com/shop.git' },
      });
      const { service } = body;
      expect(service).to.include({
        name: 'My Shop',
        kind: 'web',
        archived: false,
        projectId: null,
        environmentId: null,
        status: 'not_deployed',
        displayStatus: 'Not deployed',
        lifecycleStatus: 'draft',
        healthStatus: 'unknown',
        internalHost: 'my-shop',
        url: 'http://my-shop.localhost:8080',
        deploymentId: null,
        liveDeploymentId: null,
        deletedAt: null,
      });
      expect(service.configuration).to.deep.equal({
        ...DEFAULT_CONFIGURATION,
        port: 3000,
        repository: 'https://example.com/shop.git',
      });
      expect(service.estimatedMonthly).to.deep.equal({ usd: 0, ngn: 0, priced: true });
      expect(await api.db('deployments').where({ service_id: service.id })).to.deep.equal([]);
    });

    it('gives a second service of the same name a slug of its own', async () => {
      const first = await newService(workspace.owner.client, workspace.path, { name: 'Twin' });
      const second = await newService(workspace.owner.client, workspace.path, { name: 'Twin' });
      expect(first.internalHost).to.equal('twin');
      expect(second.internalHost).to.match(/^twin-[a-z0-9]{6}$/);
    });

    it('gives services of one name, created at the same time, different slugs', async () => {
      const made = await Promise.all(
        Array.from({ length: 6 }, () => newService(workspace.owner.client, workspace.path, { name: 'Crowd' })),
      );
      expect(new Set(made.map((service) => service.internalHost)).size).to.equal(6);
    });

    it('shows no URL for a service that is not routed or has its platform domain off', async () => {
      const worker = await newService(workspace.owner.client, workspace.path, { kind: 'worker' });
      expect(worker.url).to.equal('');
      const hidden = await newService(workspace.owner.client, workspace.path, {
        configuration: { platformDomainEnabled: false },
      });
      expect(hidden.url).to.equal('');
    });

    it('stores initial variables, sealed', async () => {
      const service = await newService(workspace.owner.client, workspace.path, {
        variables: [
          { key: 'TOKEN', value: 'very-secret-token' },
          { key: 'EMPTY', value: '' },
        ],
      });
      const { body } = await workspace.owner.client.get(`${services}/${service.id}/variables`);
      expect(body.variables.map((variable: { key: string }) => variable.key)).to.have.members(['TOKEN', 'EMPTY']);
      const rows = await api.db('variables').where({ service_id: service.id });
      for (const row of rows) expect(row.sealed.includes(Buffer.from('very-secret-token'))).to.equal(false);
    });

    it('refuses a key that is given twice, and stores nothing', async () => {
      const response = await workspace.owner.client.post(services, {
        name: 'Doubled',
        kind: 'web',
        variables: [
          { key: 'A', value: '1' },
          { key: 'A', value: '2' },
        ],
      });
      expectError(response, 400, 'invalid_request');
      expect(response.body.error.details[0].path).to.equal('/variables/1/key');
      expect(await api.db('services').where({ name: 'Doubled' })).to.deep.equal([]);
    });

    it('with deploy: true queues a deployment too and shows the service as deploying', async () => {
      const wakes = api.wakes();
      const service = await newService(workspace.owner.client, workspace.path, {
        configuration: { repository: 'https://example.com/shop.git' },
        deploy: true,
      });
      expect(service.status).to.equal('deploying');
      const { body } = await workspace.owner.client.get(`${services}/${service.id}/deploys/${service.deploymentId}`);
      expect(body.deployment).to.include({ status: 'queued', trigger: 'create', actor: workspace.owner.email });
      expect(api.wakes()).to.equal(wakes + 1);
    });

    it('with deploy: true and a source that cannot be deployed stores nothing', async () => {
      const response = await workspace.owner.client.post(services, { name: 'No source', kind: 'web', deploy: true });
      expectError(response, 400, 'source_invalid');
      expect(await api.db('services').where({ name: 'No source' })).to.deep.equal([]);
    });

    it('takes a placement of both project and environment, the environment being of that project', async () => {
      const one = await newEnvironment(api.db, workspace.id);
      const other = await newEnvironment(api.db, workspace.id);
      const service = await newService(workspace.owner.client, workspace.path, {
        projectId: one.projectId,
        environmentId: one.environmentId,
      });
      expect(service).to.include({ projectId: one.projectId, environmentId: one.environmentId });
      const placements = [
        { projectId: one.projectId },
        { environmentId: one.environmentId },
        { projectId: one.projectId, environmentId: other.environmentId },
        { projectId: one.projectId, environmentId: one.projectId },
      ];
      for (const placement of placements) {
        const response = await workspace.owner.client.post(services, { name: 'Placed', kind: 'web', ...placement });
        expectError(response, 400, 'invalid_request');
      }
    });

    it('in a protected environment takes an admin', async () => {
      const { projectId, environmentId } = await newEnvironment(api.db, workspace.id, { protected: true });
      const developer = await workspace.member('developer');
      const body = { name: 'Protected', kind: 'web', projectId, environmentId };
      expectError(await developer.client.post(services, body), 403, 'forbidden');
      const admin = await workspace.member('admin');
      expect((await admin.client.post(services, body)).status).to.equal(201);
    });

    it('refuses fields it does not know, values out of bounds and names without a character', async () => {
      const cases: [Record<string, unknown>, string][] = [
        [{ kind: 'web' }, '/name'],
        [{ name: '   ', kind: 'web' }, '/name'],
        [{ name: 'x'.repeat(101), kind: 'web' }, '/name'],
        [{ name: 'x', kind: 'mainframe' }, '/kind'],
        [{ name: 'x', kind: 'web', consent: true }, '/consent'],
        [{ name: 'x', kind: 'web', configuration: { port: 0 } }, '/configuration/port'],
        [{ name: 'x', kind: 'web', configuration: { port: '80' } }, '/configuration/port'],
        [{ name: 'x', kind: 'web', configuration: { colour: 'red' } }, '/configuration/colour'],
        [{ name: 'x', kind: 'web', configuration: { rootDirectory: '../..' } }, '/configuration/rootDirectory'],
        [{ name: 'x', kind: 'cron', configuration: { schedule: 'often' } }, '/configuration/schedule'],
        [{ name: 'x', kind: 'worker', configuration: { minReplicas: 0 } }, '/configuration/minReplicas'],
        [{ name: 'x', kind: 'web', configuration: { minReplicas: 5, maxReplicas: 2 } }, '/configuration/minReplicas'],
        [{ name: 'x', kind: 'postgres', configuration: { plan: 'pro_plus' } }, '/configuration/plan'],
        [{ name: 'x', kind: 'web', variables: [{ key: '1A', value: '' }] }, '/variables/0/key'],
      ];
      for (const [body, path] of cases) {
        const response = await workspace.owner.client.post(services, body);
        expectError(response, 400, 'invalid_request');
        expect(response.body.error.details.map((detail: { path: string }) => detail.path)).to.include(path);
      }
    });
  });

  describe('list', () => {
    it('without limit or cursor returns the complete list, archived services included, and no page', async () => {
      const other = await api.workspace();
      const path = `${other.path}/services`;
      for (let i = 0; i < 3; i++) await newService(other.owner.client, other.path);
      const { body } = await other.owner.client.get(path);
      await other.owner.client.post(`${path}/${body.services[0].id}/archive`);
      const again = await other.owner.client.get(path);
      expect(again.body.services).to.have.length(3);
      expect(again.body).to.not.have.property('page');
    });

    it('with limit or cursor pages newest first, each service once', async () => {
      const other = await api.workspace();
      const path = `${other.path}/services`;
      const made: string[] = [];
      for (let i = 0; i < 5; i++) made.unshift((await newService(other.owner.client, other.path)).id);
      const seen: string[] = [];
      let cursor: string | null = null;
      let pages = 0;
      do {
        const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
        const { body } = await other.owner.client.get(`${path}?limit=2${query}`);
        expect(body.page.limit).to.equal(2);
        expect(body.page.hasMore).to.equal(body.page.nextCursor !== null);
        seen.push(...body.services.map((service: { id: string }) => service.id));
        cursor = body.page.nextCursor;
        pages++;
      } while (cursor !== null);
      expect(pages).to.equal(3);
      expect(seen).to.deep.equal(made);
    });
  });

  describe('read', () => {
    it('returns the service; another workspace’s, unknown or malformed ids are not found', async () => {
      const service = await newService(workspace.owner.client, workspace.path);
      const { body } = await workspace.owner.client.get(`${services}/${service.id}`);
      expect(body.service).to.deep.equal(service);
      expect((await workspace.owner.client.get(`${services}/${service.id.toUpperCase()}`)).status).to.equal(200);
      const other = await api.workspace();
      const foreign = await newService(other.owner.client, other.path);
      for (const id of [foreign.id, '00000000-0000-4000-8000-000000000000', 'nonsense', '%00', "'"]) {
        expectError(await workspace.owner.client.get(`${services}/${id}`), 404, 'not_found');
      }
    });

    it('shows the release that serves and the latest deployment', async () => {
      const service = await newService(workspace.owner.client, workspace.path);
      const live = await pretendLive(api.db, service.id);
      const { body } = await workspace.owner.client.get(`${services}/${service.id}`);
      expect(body.service).to.include({
        status: 'live',
        lifecycleStatus: 'active',
        healthStatus: 'ready',
        deploymentId: live,
        liveDeploymentId: live,
      });
      expect(body.service.healthCheckedAt).to.be.a('string');
      expect(body.service.deploymentUpdatedAt).to.be.a('string');
    });
  });

  describe('update', () => {
    it('merges configuration, and starts no deployment', async () => {
      const service = await newService(workspace.owner.client, workspace.path, { configuration: { port: 3000 } });
      const { body } = await workspace.owner.client.patch(`${services}/${service.id}`, {
        configuration: { startCommand: 'node server.js' },
      });
      expect(body.service.configuration).to.include({ port: 3000, startCommand: 'node server.js' });
      expect(Date.parse(body.service.updatedAt)).to.be.at.least(Date.parse(service.updatedAt));
      expect(body.service.deploymentId).to.equal(null);
    });

    it('never shows the password of a repository’s address, and keeps it when it is sent back as shown', async () => {
      const { client } = workspace.owner;
      const repository = 'https://deploy:s3cret-t0ken@example.com/shop.git';
      const shown = 'https://***@example.com/shop.git';
      const service = await newService(client, workspace.path, { configuration: { repository } });
      const path = `${services}/${service.id}`;
      expect(service.configuration.repository).to.equal(shown);
      for (const url of [path, services]) {
        expect(JSON.stringify((await workspace.owner.reader.get(url)).body)).to.not.contain('s3cret');
      }
      await client.patch(path, { configuration: { ...service.configuration, port: 3001 } });
      const stored = await api.db('services').where({ id: service.id }).first();
      expect(stored.configuration).to.include({ repository: shown, port: 3001 });
      expect(stored.sealed_repository).to.be.instanceOf(Buffer);
      const elsewhere = { configuration: { repository: 'https://deploy:***@example.com/other.git' } };
      const refused = await client.patch(path, elsewhere);
      expectError(refused, 400, 'invalid_request');
      expect(refused.body.error.details[0].path).to.equal('/configuration/repository');
      expectError(await client.post(services, { name: 'new', kind: 'web', ...elsewhere }), 400, 'invalid_request');
      await client.patch(path, { configuration: { repository: 'https://ghp_0123456789@example.com/shop.git' } });
      const { body } = await client.get(path);
      expect(body.service.configuration.repository).to.equal('https://***@example.com/shop.git');
    });

    it('loses no change when two merge at the same time', async () => {
      const service = await newService(workspace.owner.client, workspace.path);
      const path = `${services}/${service.id}`;
      await Promise.all([
        workspace.owner.client.patch(path, { configuration: { port: 4001 } }),
        workspace.owner.client.patch(path, { configuration: { buildCommand: 'make' } }),
        workspace.owner.client.patch(path, { configuration: { startCommand: './run' } }),
      ]);
      const { body } = await workspace.owner.client.get(path);
      expect(body.service.configuration).to.include({ port: 4001, buildCommand: 'make', startCommand: './run' });
    });

    it('accepts the current kind and refuses another', async () => {
      const service = await newService(workspace.owner.client, workspace.path);
      const path = `${services}/${service.id}`;
      expect((await workspace.owner.client.patch(path, { kind: 'web' })).status).to.equal(200);
      const response = await workspace.owner.client.patch(path, { kind: 'static' });
      expectError(response, 400, 'invalid_request');
      expect(response.body.error.details[0].path).to.equal('/kind');
    });

    it('queues routing reconciliation if a routing setting of a live service changes, and only then', async () => {
      const service = await newService(workspace.owner.client, workspace.path);
      const path = `${services}/${service.id}`;
      const queued = () => api.db('operations').where({ service_id: service.id, kind: 'routing' });
      await workspace.owner.client.patch(path, { configuration: { maintenance: true } });
      expect(await queued()).to.have.length(0);
      await pretendLive(api.db, service.id);
      await workspace.owner.client.patch(path, { configuration: { description: 'no routing here' } });
      expect(await queued()).to.have.length(0);
      await workspace.owner.client.patch(path, { configuration: { maintenance: false } });
      const [operation] = await queued();
      expect(operation).to.include({ status: 'queued', actor: workspace.owner.email });
      expect(operation.due_at, 'its job is due').to.not.equal(null);
    });

    it('moves a service between environments, unless a group of it would be left behind', async () => {
      const from = await newEnvironment(api.db, workspace.id);
      const to = await newEnvironment(api.db, workspace.id);
      const service = await newService(workspace.owner.client, workspace.path, {
        projectId: from.projectId,
        environmentId: from.environmentId,
      });
      const path = `${services}/${service.id}`;
      const move = { projectId: to.projectId, environmentId: to.environmentId };
      const group = await from.group('shared settings');
      await group.link(service.id);
      expectError(await workspace.owner.client.patch(path, move), 409, 'conflict');
      await group.unlink(service.id);
      const { body } = await workspace.owner.client.patch(path, move);
      expect(body.service).to.include(move);
      const cleared = await workspace.owner.client.patch(path, { projectId: null, environmentId: null });
      expect(cleared.body.service).to.include({ projectId: null, environmentId: null });
    });

    it('into or within a protected environment takes an admin', async () => {
      const guarded = await newEnvironment(api.db, workspace.id, { protected: true });
      const developer = await workspace.member('developer');
      const free = await newService(developer.client, workspace.path);
      const move = { projectId: guarded.projectId, environmentId: guarded.environmentId };
      expectError(await developer.client.patch(`${services}/${free.id}`, move), 403, 'forbidden');
      await workspace.owner.client.patch(`${services}/${free.id}`, move);
      expectError(await developer.client.patch(`${services}/${free.id}`, { name: 'x' }), 403, 'forbidden');
      expectError(await developer.client.post(`${services}/${free.id}/archive`), 403, 'forbidden');
      expect((await developer.client.get(`${services}/${free.id}`)).status).to.equal(200);
    });
  });

  describe('archive and restore', () => {
    it('set archived and do nothing else', async () => {
      const service = await newService(workspace.owner.client, workspace.path, {
        configuration: { repository: 'https://example.com/a.git' },
      });
      const path = `${services}/${service.id}`;
      const archived = await workspace.owner.client.post(`${path}/archive`);
      const { updatedAt } = archived.body.service;
      expect(archived.body.service).to.deep.equal({ ...service, archived: true, updatedAt });
      expect((await workspace.owner.client.post(`${path}/archive`)).body.service.archived).to.equal(true);
      expectError(await workspace.owner.client.post(`${path}/deploys`), 409, 'service_archived');
      const restored = await workspace.owner.client.post(`${path}/restore`);
      expect(restored.body.service).to.deep.equal({ ...service, updatedAt: restored.body.service.updatedAt });
      for (const table of ['deployments', 'operations']) {
        expect(await api.db(table).where({ service_id: service.id }), table).to.deep.equal([]);
      }
      expect((await workspace.owner.client.post(`${path}/deploys`)).status).to.equal(200);
    });
  });

  it('archiving and restoring what runs suspends, deletes, deploys and resumes nothing', async () => {
    const service = await newService(workspace.owner.client, workspace.path);
    const live = await pretendLive(api.db, service.id);
    const path = `${services}/${service.id}`;
    const before = (await workspace.owner.client.get(path)).body.service;
    const deployments = await api.db('deployments').where({ service_id: service.id });
    for (const action of ['archive', 'restore']) {
      const { body } = await workspace.owner.client.post(`${path}/${action}`);
      expect(body.service).to.include({ lifecycleStatus: 'active', liveDeploymentId: live, deploymentId: live });
      const { updatedAt } = body.service;
      expect(body.service).to.deep.equal({ ...before, archived: action === 'archive', updatedAt });
      expect(await api.db('operations').where({ service_id: service.id })).to.deep.equal([]);
      expect(await api.db('deployments').where({ service_id: service.id })).to.deep.equal(deployments);
    }
  });

  describe('delete', () => {
    it('needs the exact name', async () => {
      const service = await newService(workspace.owner.client, workspace.path, { name: 'Precious' });
      const path = `${services}/${service.id}`;
      expectError(await workspace.owner.client.delete(path, { confirm: 'precious' }), 400, 'invalid_confirmation');
      expectError(await workspace.owner.client.delete(path), 400, 'invalid_request');
      expect((await workspace.owner.client.get(path)).body).to.deep.equal({ service });
    });

    it('without infrastructure deletes at once: 200, deleted: true', async () => {
      const service = await newService(workspace.owner.client, workspace.path, {
        name: 'Short lived',
        configuration: { repository: 'https://user:token-of-git@example.com/a.git' },
        variables: [{ key: 'TOKEN', value: 'kept for nobody' }],
      });
      const path = `${services}/${service.id}`;
      const { status, body } = await workspace.owner.client.delete(path, { confirm: 'Short lived' });
      expect(status).to.equal(200);
      expect(body).to.deep.equal({ deleted: true, queued: false, operation: null });
      expectError(await workspace.owner.client.get(path), 404, 'not_found');
      for (const rest of ['variables', 'logs', 'deploys']) {
        expectError(await workspace.owner.client.get(`${path}/${rest}`), 404, 'not_found');
      }
      expect((await workspace.owner.client.get(`${path}/operations`)).body.operations).to.deep.equal([]);
      expect(await api.db('variables').where({ service_id: service.id })).to.deep.equal([]);
      expect(await api.db('services').where({ id: service.id }).first()).to.include({ sealed_repository: null });
      const { body: list } = await workspace.owner.client.get(services);
      expect(list.services.map((row: { id: string }) => row.id)).to.not.include(service.id);
    });

    it('with infrastructure archives and queues the deletion: 200, queued: true', async () => {
      const service = await newService(workspace.owner.client, workspace.path, { name: 'Running' });
      await pretendLive(api.db, service.id);
      const path = `${services}/${service.id}`;
      const { status, body } = await workspace.owner.client.delete(path, { confirm: 'Running' });
      expect(status).to.equal(200);
      expect(body).to.deep.include({ deleted: false, queued: true });
      expect(body.operation).to.include({ kind: 'delete', status: 'queued' });
      const after = await workspace.owner.client.get(path);
      expect(after.body.service).to.include({ archived: true, status: 'deleting', lifecycleStatus: 'deleting' });
      expect(after.body.service.deletionRequestedAt).to.be.a('string');
      const operation = await workspace.owner.client.get(`${path}/operations/${body.operation.id}`);
      expect(operation.body.operation).to.deep.equal(body.operation);
      expectError(await workspace.owner.client.post(`${path}/restore`), 409, 'conflict');
      expectError(await workspace.owner.client.patch(path, { name: 'x' }), 409, 'conflict');
    });
  });
});
