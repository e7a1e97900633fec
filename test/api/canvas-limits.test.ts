import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { DEFAULT_CONFIGURATION } from '../../shared/services/configuration.js';
import { type Client, expectError, type TestApi, type TestWorkspace } from '../support/api.js';
import { EMPTY, idsOf, type TestCanvas, useTestCanvas } from '../support/canvas.js';

describe('The limits of a canvas', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let client: Client;
  let canvas: string;
  let read: TestCanvas['read'];

  useTestCanvas((given) => ({ api, workspace, client, canvas, read } = given));

  const addServices = async (count: number): Promise<string[]> => {
    const made = Array.from({ length: count }, () => uuidv7());
    await api.db.raw(
      `insert into services (id, workspace_id, name, slug, kind, configuration)
       select id, ?, 'bulk', 'bulk-' || id, 'web', cast(? as jsonb) from unnest(cast(? as uuid[])) id`,
      [workspace.id, JSON.stringify(DEFAULT_CONFIGURATION), made],
    );
    return made;
  };
  /** Adds references: each consumer has a variable with this key that refers to the provider. */
  const addReferences = async (pairs: [consumer: string, provider: string, key: string][]): Promise<void> => {
    await api.db.raw(
      `insert into variables (id, workspace_id, service_id, key, reference_service_id, reference_key)
       select gen_random_uuid(), ?, consumer, key, provider, 'URL'
         from unnest(cast(? as uuid[]), cast(? as uuid[]), cast(? as text[])) p (consumer, provider, key)`,
      [workspace.id, pairs.map(([id]) => id), pairs.map(([, id]) => id), pairs.map(([, , key]) => key)],
    );
  };
  const addGroups = async (count: number): Promise<string[]> => {
    const made = Array.from({ length: count }, () => uuidv7());
    await api.db.raw(
      `insert into environment_groups (id, workspace_id, name)
       select id, ?, 'bulk' from unnest(cast(? as uuid[])) id`,
      [workspace.id, made],
    );
    return made;
  };
  const pairsOf = (services: string[], count: number): [string, string, string][] => {
    const at = (index: number): string => services[index % services.length] ?? '';
    return Array.from({ length: count }, (_, i) => {
      const lap = Math.floor(i / services.length) + 1;
      return [at(i), at(i + lap), `KEY_${lap}`];
    });
  };

  it('2000 nodes and 10000 edges are answered whole, in a few statements; one more of either is too large', async () => {
    const services = await addServices(2000);
    const pairs = pairsOf(services, 10_001);
    await addReferences(pairs.slice(0, 10_000));
    let statements = 0;
    const count = () => statements++;
    api.db.on('query', count);
    const body = await read();
    api.db.off('query', count);
    expect(body.nodes).to.have.length(2000);
    expect(body.edges).to.have.length(10_000);
    expect(new Set(idsOf(body.edges)).size).to.equal(10_000);
    expect(statements).to.be.at.most(10);

    const positions = Object.fromEntries(services.map((id, x) => [id, { x, y: 1 - x }]));
    const saved = await client.patch(canvas, { revision: 0, positions, viewport: null });
    expect(saved.body.layout.positions).to.deep.equal(positions);
    expect(saved.body.edges).to.deep.equal(body.edges);

    await addReferences(pairs.slice(10_000));
    expectError(await client.get(canvas), 413, 'canvas_too_large');
    await api.db('variables').where({ workspace_id: workspace.id }).delete();
    expect((await read()).edges).to.deep.equal([]);
    const [last = ''] = await addServices(1);
    expectError(await client.get(canvas), 413, 'canvas_too_large');
    expectError(await client.patch(canvas, { revision: 1, ...EMPTY }), 413, 'canvas_too_large');
    await client.post(`${workspace.path}/services/${last}/archive`);
    expect((await read()).layout.revision).to.equal(1);
  });

  it('10000 reference records of few edges are shown; one more is too large', async () => {
    const services = await addServices(21);
    const [provider = '', ...consumers] = services;
    const pairs = consumers.flatMap((id) =>
      Array.from({ length: 500 }, (_, i): [string, string, string] => [id, provider, `KEY_${i}`]),
    );
    await addReferences(pairs);
    const body = await read();
    expect(body.edges).to.have.length(20);
    expect(body.edges[0].keys).to.have.length(500);
    await addReferences([[consumers[0] ?? '', provider, 'ONE_MORE']]);
    expectError(await client.get(canvas), 413, 'canvas_too_large');
  });

  it('edges of both kinds count together', async () => {
    const services = await addServices(100);
    const groups = await addGroups(51);
    await api.db.raw(
      `insert into environment_group_services (group_id, service_id)
       select g, s from unnest(cast(? as uuid[])) g, unnest(cast(? as uuid[])) s`,
      [groups.slice(0, 50), services],
    );
    await addReferences(pairsOf(services, 5000));
    expect((await read()).edges).to.have.length(10_000);
    await api.db('environment_group_services').insert({ group_id: groups[50], service_id: services[0] });
    expectError(await client.get(canvas), 413, 'canvas_too_large');
  });

  it('at most 2000 groups', async () => {
    await addGroups(2000);
    expect((await read()).groups).to.have.length(2000);
    await addGroups(1);
    expectError(await client.get(canvas), 413, 'canvas_too_large');
  });

  it('at most 2000 positions in a save', async () => {
    const services = await addServices(1999);
    const groups = (await addGroups(2)).map((id) => `group:${id}`);
    const positions = (nodes: string[]) => Object.fromEntries(nodes.map((id) => [id, { x: 0, y: 0 }]));
    const one = { revision: 0, positions: positions([...services, ...groups]), viewport: null };
    expectError(await client.patch(canvas, one), 400, 'invalid_request');
    const most = { ...one, positions: positions([...services, ...groups.slice(1)]) };
    expect((await client.patch(canvas, most)).status).to.equal(200);
  });
});
