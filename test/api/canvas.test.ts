import { expect } from 'chai';
import { type Client, expectError, type Json, newService, type TestApi, type TestWorkspace } from '../support/api.js';
import { EMPTY, idsOf, type TestCanvas, useTestCanvas } from '../support/canvas.js';
import { addEnvironment, link, newGroup, newProject } from '../support/places.js';
import { pretendLive } from '../support/records.js';

const NOWHERE = '00000000-0000-4000-8000-000000000000';

describe('Canvas', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let client: Client;
  let canvas: string;
  let read: TestCanvas['read'];

  useTestCanvas((given) => ({ api, workspace, client, canvas, read } = given));
  const refer = (service: Json, key: string, provider: Json, at = `${workspace.path}/services/${service.id}`) =>
    client.post(`${at}/variables`, { key, reference: { serviceId: provider.id, key: 'URL' } });

  describe('read', () => {
    it('of an empty workspace has all of nodes, groups, edges, layout and scope; an unsaved layout has revision 0', async () => {
      expect(await read()).to.deep.equal({
        nodes: [],
        groups: [],
        edges: [],
        layout: { revision: 0, positions: {}, viewport: null },
        scope: { projectId: null, environmentId: null },
      });
    });

    it('shows the workspace, one project across its environments, or one project environment', async () => {
      const project = await newProject(client, workspace.path);
      const staging = await addEnvironment(client, project);
      const free = await newService(client, workspace.path);
      const inProduction = await newService(client, workspace.path, project.placement);
      const inStaging = await newService(client, workspace.path, staging.placement);
      const whole = await read();
      expect(idsOf(whole.nodes)).to.have.members([free.id, inProduction.id, inStaging.id]);
      expect(whole.nodes.find(({ id }: Json) => id === free.id)).to.deep.equal(free);
      const ofProject = await read(`?projectId=${project.id}`);
      expect(idsOf(ofProject.nodes)).to.have.members([inProduction.id, inStaging.id]);
      expect(ofProject.scope).to.deep.equal({ projectId: project.id, environmentId: null });
      const ofStaging = await read(`?projectId=${project.id.toUpperCase()}&environmentId=${staging.id}`);
      expect(idsOf(ofStaging.nodes)).to.deep.equal([inStaging.id]);
      expect(ofStaging.scope).to.deep.equal({ projectId: project.id, environmentId: staging.id });
    });

    it('excludes archived services and services being deleted or deleted', async () => {
      const kept = await newService(client, workspace.path);
      const archived = await newService(client, workspace.path);
      const deleting = await newService(client, workspace.path);
      const deleted = await newService(client, workspace.path);
      await pretendLive(api.db, deleting.id);
      const at = (service: Json) => `${workspace.path}/services/${service.id}`;
      await client.post(`${at(archived)}/archive`);
      await client.delete(at(deleting), { confirm: deleting.name });
      await client.delete(at(deleted), { confirm: deleted.name });
      expect(idsOf((await read()).nodes)).to.deep.equal([kept.id]);
      await client.post(`${at(archived)}/restore`);
      expect(idsOf((await read()).nodes)).to.have.members([kept.id, archived.id]);
    });

    it('reference edges point from consumer to provider and expose variable names only', async () => {
      const consumer = await newService(client, workspace.path);
      const provider = await newService(client, workspace.path);
      await refer(consumer, 'API_URL', provider);
      await refer(consumer, 'API_AGAIN', provider);
      const secret = { key: 'PASSWORD', value: 'never to be shown' };
      await client.post(`${workspace.path}/services/${consumer.id}/variables`, secret);
      const body = await read();
      expect(body.edges).to.have.length(1);
      const [{ id, ...edge }] = body.edges;
      expect(edge).to.deep.equal({
        source: consumer.id,
        target: provider.id,
        kind: 'reference',
        keys: ['API_AGAIN', 'API_URL'],
      });
      expect(JSON.stringify(body)).to.not.contain('PASSWORD').and.to.not.contain('never to be shown');
      await refer(consumer, 'API_THIRD', provider);
      expect(idsOf((await read()).edges)).to.deep.equal([id]);
    });

    it('environment-group edges point from the group node to a linked service', async () => {
      const project = await newProject(client, workspace.path);
      const service = await newService(client, workspace.path, project.placement);
      const { environmentId } = project.placement;
      const group = await newGroup(client, workspace.path, { name: 'Settings', environmentId });
      await link(client, group, service);
      const body = await read();
      const node = `group:${group.id}`;
      expect(body.groups).to.deep.equal([{ id: node, name: 'Settings', environmentId, serviceIds: [service.id] }]);
      const [{ id, ...edge }] = body.edges;
      expect(edge).to.deep.equal({ source: node, target: service.id, kind: 'environment-group' });
      expect(idsOf((await read()).edges)).to.deep.equal([id]);
    });

    it('a reference that a group holds points from the group node to the provider', async () => {
      const provider = await newService(client, workspace.path);
      const group = await newGroup(client, workspace.path);
      await refer(group, 'API', provider, group.path);
      const [edge] = (await read()).edges;
      expect(edge).to.deep.include({ source: `group:${group.id}`, target: provider.id, kind: 'reference' });
      expect(edge.keys).to.deep.equal(['API']);
    });

    it('only active services and valid scoped reference or group connections appear', async () => {
      const project = await newProject(client, workspace.path);
      const staging = await addEnvironment(client, project);
      const outside = await newService(client, workspace.path);
      const one = await newService(client, workspace.path, project.placement);
      const two = await newService(client, workspace.path, staging.placement);
      const archived = await newService(client, workspace.path, project.placement);
      const wide = await newGroup(client, workspace.path);
      const unlinked = await newGroup(client, workspace.path);
      const scoped = await newGroup(client, workspace.path, { environmentId: staging.id });
      for (const service of [outside, one, archived]) await link(client, wide, service);
      await refer(one, 'TWO', two);
      await refer(one, 'OUTSIDE', outside);
      await refer(one, 'ARCHIVED', archived);
      await refer(archived, 'ONE', one);
      await client.post(`${workspace.path}/services/${archived.id}/archive`);
      const connections = ({ edges }: Json) => edges.map(({ source, target }: Json) => `${source} ${target}`);
      const group = (row: Json) => `group:${row.id}`;

      const whole = await read();
      expect(idsOf(whole.groups)).to.have.members([wide, unlinked, scoped].map(group));
      expect(connections(whole)).to.have.members([
        `${one.id} ${two.id}`,
        `${one.id} ${outside.id}`,
        `${group(wide)} ${outside.id}`,
        `${group(wide)} ${one.id}`,
      ]);
      const ofProject = await read(`?projectId=${project.id}`);
      expect(idsOf(ofProject.groups)).to.have.members([wide, scoped].map(group));
      expect(connections(ofProject)).to.have.members([`${one.id} ${two.id}`, `${group(wide)} ${one.id}`]);
      const ofStaging = await read(`?projectId=${project.id}&environmentId=${staging.id}`);
      expect(idsOf(ofStaging.groups)).to.deep.equal([group(scoped)]);
      expect(connections(ofStaging)).to.deep.equal([]);
    });

    it('refuses unknown, duplicated and empty scope parameters', async () => {
      const project = await newProject(client, workspace.path);
      const other = await newProject(client, workspace.path);
      const { projectId, environmentId } = project.placement;
      const refused = [
        '?limit=1',
        `?projectId=${projectId}&zoom=1`,
        `?projectId=${projectId}&projectId=${projectId}`,
        '?projectId=',
        `?projectId=${projectId}&environmentId=`,
        '?projectId=nonsense',
        `?projectId=urn:uuid:${projectId}`,
        `?environmentId=${environmentId}`,
        `?projectId=${other.id}&environmentId=${environmentId}`,
      ];
      for (const query of refused) {
        expectError(await client.get(canvas + query), 400, 'invalid_request');
        expectError(await client.patch(canvas + query, { revision: 0, ...EMPTY }), 400, 'invalid_request');
      }
      for (const query of [`?projectId=${NOWHERE}`, `?projectId=${projectId}&environmentId=${NOWHERE}`]) {
        expectError(await client.get(canvas + query), 404, 'not_found');
        expectError(await client.patch(canvas + query, { revision: 0, ...EMPTY }), 404, 'not_found');
      }
      const stranger = await api.workspace();
      const foreign = await newProject(stranger.owner.client, stranger.path);
      expectError(await client.get(`${canvas}?projectId=${foreign.id}`), 404, 'not_found');
    });
  });

  describe('save', () => {
    it('replaces all saved positions and the viewport, and answers with the complete canvas', async () => {
      const service = await newService(client, workspace.path);
      const other = await newService(client, workspace.path);
      const group = await newGroup(client, workspace.path);
      const positions = { [service.id]: { x: 1.5, y: -2 }, [`group:${group.id}`]: { x: 0, y: 10_000_000 } };
      const viewport = { x: -10_000_000, y: 3, zoom: 0.1 };
      const { status, body } = await client.patch(canvas, { revision: 0, positions, viewport });
      expect(status).to.equal(200);
      expect(body.layout).to.deep.equal({ revision: 1, positions, viewport });
      expect(body).to.deep.equal(await read());
      const next = { [other.id]: { x: 7, y: 7 } };
      const replaced = await client.patch(canvas, { revision: 1, positions: next, viewport: null });
      expect(replaced.body.layout).to.deep.equal({ revision: 2, positions: next, viewport: null });
    });

    it('with empty positions and a null viewport resets the layout', async () => {
      const service = await newService(client, workspace.path);
      const positions = { [service.id]: { x: 1, y: 1 } };
      await client.patch(canvas, { revision: 0, positions, viewport: { x: 0, y: 0, zoom: 1 } });
      const { body } = await client.patch(canvas, { revision: 1, ...EMPTY });
      expect(body.layout).to.deep.equal({ revision: 2, positions: {}, viewport: null });
      expect((await read()).layout).to.deep.equal(body.layout);
    });

    it('keeps a separate layout for each scope', async () => {
      const project = await newProject(client, workspace.path);
      const { projectId, environmentId } = project.placement;
      const service = await newService(client, workspace.path, project.placement);
      const scopes = ['', `?projectId=${projectId}`, `?projectId=${projectId}&environmentId=${environmentId}`];
      for (const [x, query] of scopes.entries()) {
        expect((await read(query)).layout.revision).to.equal(0);
        const positions = { [service.id]: { x, y: 0 } };
        expect((await client.patch(canvas + query, { revision: 0, positions, viewport: null })).status).to.equal(200);
      }
      for (const [x, query] of scopes.entries()) {
        expect((await read(query)).layout).to.deep.include({ revision: 1, positions: { [service.id]: { x, y: 0 } } });
      }
      await client.delete(`${workspace.path}/services/${service.id}`, { confirm: service.name });
      expect((await client.delete(project.path, { confirm: project.name })).status).to.equal(200);
      expect(await api.db('canvas_layouts').where({ workspace_id: workspace.id })).to.have.length(1);
    });

    it('with a stale revision is a conflict and changes nothing', async () => {
      const stale = (revision: number) => client.patch(canvas, { revision, ...EMPTY });
      expectError(await stale(1), 409, 'canvas_revision_conflict');
      expect((await read()).layout.revision).to.equal(0);
      expect((await stale(0)).body.layout.revision).to.equal(1);
      for (const revision of [0, 2, 9007199254740990]) {
        expectError(await stale(revision), 409, 'canvas_revision_conflict');
      }
      expect((await read()).layout.revision).to.equal(1);
      expect((await stale(1)).body.layout.revision).to.equal(2);
    });

    it('exactly one of concurrent saves wins, the first save of a scope and later ones', async () => {
      const service = await newService(client, workspace.path);
      for (const revision of [0, 1, 2]) {
        const responses = await Promise.all(
          Array.from({ length: 8 }, (_, x) =>
            client.patch(canvas, { revision, positions: { [service.id]: { x, y: revision } }, viewport: null }),
          ),
        );
        const won = responses.filter(({ status }) => status === 200);
        expect(won).to.have.length(1);
        for (const response of responses) {
          if (response.status !== 200) expectError(response, 409, 'canvas_revision_conflict');
        }
        expect((await read()).layout).to.deep.equal(won[0]?.body.layout);
      }
    });

    it('takes revisions up to 9007199254740990, and answers with up to 9007199254740991', async () => {
      await client.patch(canvas, { revision: 0, ...EMPTY });
      await api.db('canvas_layouts').where({ scope_id: workspace.id }).update({ revision: '9007199254740990' });
      const { body } = await client.patch(canvas, { revision: 9007199254740990, ...EMPTY });
      expect(body.layout.revision).to.equal(9007199254740991);
      expectError(await client.patch(canvas, { revision: 9007199254740991, ...EMPTY }), 400, 'invalid_request');
    });

    it('refuses node ids that are not present in the current canvas, or no longer visible', async () => {
      const project = await newProject(client, workspace.path);
      const inside = await newService(client, workspace.path, project.placement);
      const outside = await newService(client, workspace.path);
      const group = await newGroup(client, workspace.path);
      const archived = await newService(client, workspace.path, project.placement);
      const scope = `${canvas}?projectId=${project.id}`;
      const at = { x: 0, y: 0 };
      const positions = { [inside.id]: at, [archived.id]: at };
      await client.patch(scope, { revision: 0, positions, viewport: null });
      await client.post(`${workspace.path}/services/${archived.id}/archive`);
      const unknown = [archived.id, outside.id, `group:${group.id}`, `group:${inside.id}`, NOWHERE, group.id];
      for (const id of unknown) {
        const response = await client.patch(scope, {
          revision: 1,
          positions: { [inside.id]: at, [id]: at },
          viewport: null,
        });
        expectError(response, 400, 'canvas_invalid_node');
        expect(response.body.error.details[0].path).to.equal(`/positions/${id}`);
      }
      const { layout } = (await client.get(scope)).body;
      expect(layout).to.deep.equal({ revision: 1, positions: { [inside.id]: at }, viewport: null });
    });

    it('refuses additional fields, missing ones and values out of bounds', async () => {
      const { id } = await newService(client, workspace.path);
      const good = { revision: 0, positions: { [id]: { x: 0, y: 0 } }, viewport: { x: 0, y: 0, zoom: 1 } };
      const position = (value: Json) => ({ ...good, positions: { [id]: value } });
      const viewport = (value: Json) => ({ ...good, viewport: { ...good.viewport, ...value } });
      const { revision, positions, viewport: view } = good;
      const refused: Json[] = [
        {},
        { positions, viewport: view },
        { revision, viewport: view },
        { revision, positions },
        { ...good, requestId: 'abc' },
        { ...good, edges: [] },
        { ...good, revision: -1 },
        { ...good, revision: 0.5 },
        { ...good, revision: '0' },
        { ...good, positions: [] },
        { ...good, positions: null },
        { ...good, positions: { 'not-an-id': { x: 0, y: 0 } } },
        { ...good, positions: { [`node:${id}`]: { x: 0, y: 0 } } },
        position({ x: 10_000_001, y: 0 }),
        position({ x: 0, y: -10_000_000.5 }),
        position({ x: 0 }),
        position({ x: 0, y: 0, z: 0 }),
        position({ x: '0', y: 0 }),
        viewport({ zoom: 0.09 }),
        viewport({ zoom: 4.01 }),
        viewport({ x: 10_000_001 }),
        viewport({ pitch: 1 }),
        { ...good, viewport: { x: 0, y: 0 } },
      ];
      for (const body of refused) expectError(await client.patch(canvas, body), 400, 'invalid_request');
      const infinite = JSON.stringify(good).replace('"x":0', '"x":1e999');
      expectError(await client.patch(canvas, infinite), 400, 'invalid_request');
      const edges = {
        revision: 0,
        positions: { [id]: { x: -10_000_000, y: 10_000_000 } },
        viewport: { x: 10_000_000, y: -10_000_000, zoom: 4 },
      };
      expect((await client.patch(canvas, edges)).status).to.equal(200);
    });

    it('takes a developer, admin or owner, in protected environments too; readers only read', async () => {
      const project = await newProject(client, workspace.path);
      const guarded = await addEnvironment(client, project, { protected: true });
      const service = await newService(client, workspace.path, guarded.placement);
      const scope = `${canvas}?projectId=${project.id}&environmentId=${guarded.id}`;
      const save = (who: Client, revision: number) =>
        who.patch(scope, { revision, positions: { [service.id]: { x: revision, y: 0 } }, viewport: null });
      const viewer = await workspace.member('viewer');
      expect((await viewer.client.get(scope)).status).to.equal(200);
      expectError(await save(viewer.client, 0), 403, 'forbidden');
      const developer = await workspace.member('developer');
      expectError(await save(developer.reader, 0), 403, 'forbidden');
      expect((await save(developer.client, 0)).status).to.equal(200);
      expect((await save((await workspace.member('admin')).client, 1)).status).to.equal(200);
      expect((await save(client, 2)).status).to.equal(200);
    });

    it('does not use idempotency-key replay', async () => {
      const headers = { 'Idempotency-Key': 'canvas' };
      const first = await client.patch(canvas, { revision: 0, ...EMPTY }, headers);
      expect(first.headers.get('idempotency-replayed')).to.equal(null);
      expectError(await client.patch(canvas, { revision: 0, ...EMPTY }, headers), 409, 'canvas_revision_conflict');
      expect((await client.patch(canvas, { revision: 1, ...EMPTY }, headers)).status).to.equal(200);
    });

    it('takes a body of up to 256 KiB', async () => {
      const body = JSON.stringify({ revision: 0, ...EMPTY });
      const largest = body + ' '.repeat(262_144 - body.length);
      expectError(await client.patch(canvas, `${largest} `), 413, 'payload_too_large');
      expect((await client.patch(canvas, largest)).status).to.equal(200);
    });

    it('changes no connection, service or infrastructure configuration', async () => {
      const service = await newService(client, workspace.path);
      const group = await newGroup(client, workspace.path);
      await link(client, group, service);
      const before = await read();
      const operations = await api.db('operations');
      const positions = { [service.id]: { x: 1, y: 1 } };
      const { body } = await client.patch(canvas, { revision: 0, positions, viewport: null });
      const { layout: _before, ...connections } = before;
      const { layout: _after, ...after } = body;
      expect(after).to.deep.equal(connections);
      expect(await api.db('operations')).to.deep.equal(operations);
      expect(await api.db('deployments').whereNull('finished_at')).to.deep.equal([]);
    });
  });
});
