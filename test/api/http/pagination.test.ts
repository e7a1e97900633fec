import { expect } from 'chai';
import {
  expectError,
  type Json,
  newKey,
  newService,
  type TestApi,
  type TestWorkspace,
  useTestApi,
} from '../../support/api.js';
import { newDeployment } from '../../support/records.js';

describe('Pagination', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let services: string;
  let cursor: string;

  useTestApi(async (given) => {
    ({ api, workspace } = given);
    services = `${workspace.path}/services`;
    for (let i = 0; i < 3; i++) await newService(workspace.owner.client, workspace.path);
    cursor = (await workspace.owner.client.get(`${services}?limit=1`)).body.page.nextCursor;
  });

  it('limit is an integer from 1 to 200 for every collection', async () => {
    const [service] = (await workspace.owner.client.get(services)).body.services;
    const one = `${services}/${service.id}`;
    const collections = [
      `${workspace.path}/projects`,
      services,
      `${one}/variables`,
      `${one}/deploys`,
      `${one}/operations`,
      `${workspace.path}/environment-groups`,
    ];
    for (const collection of collections) {
      for (const limit of [1, 200]) {
        const { body } = await workspace.owner.client.get(`${collection}?limit=${limit}`);
        expect(body.page.limit, collection).to.equal(limit);
      }
      for (const limit of ['0', '201', '-1', '1.5', 'x', '']) {
        expectError(await workspace.owner.client.get(`${collection}?limit=${limit}`), 400, 'invalid_request');
      }
    }
  });

  it('is not a frozen snapshot: records created after the first page need a fresh listing', async () => {
    const { client, path } = await api.workspace().then(({ owner, path }) => ({ client: owner.client, path }));
    const old = [await newService(client, path), await newService(client, path)];
    const first = await client.get(`${path}/services?limit=1`);
    const later = await newService(client, path);
    const rest = await client.get(`${path}/services?limit=2&cursor=${first.body.page.nextCursor}`);
    const seen = [...first.body.services, ...rest.body.services].map((service: Json) => service.id);
    expect(seen).to.deep.equal(old.map(({ id }) => id).reverse());
    expect((await client.get(`${path}/services?limit=1`)).body.services[0].id).to.equal(later.id);
  });

  it('a cursor alone switches to pages of 100', async () => {
    const { body } = await workspace.owner.client.get(`${services}?cursor=${cursor}`);
    expect(body.services).to.have.length(2);
    expect(body.page).to.deep.equal({ limit: 100, hasMore: false, nextCursor: null });
  });

  it('a cursor is opaque, and good with another limit', async () => {
    expect(cursor).to.match(/^[A-Za-z0-9_-]+$/);
    const { body } = await workspace.owner.client.get(`${services}?limit=2&cursor=${cursor}`);
    expect(body.services).to.have.length(2);
  });

  it('a cursor of another caller, workspace or path, or an invented one, is invalid_cursor', async () => {
    const [service] = (await workspace.owner.client.get(services)).body.services;
    const other = await api.workspace();
    const second = await newKey(api.db, workspace.id, workspace.owner.email, 'write');
    const member = await workspace.member('developer');
    const refused = [
      workspace.owner.client.get(`${services}/${service.id}/variables?cursor=${cursor}`),
      workspace.owner.client.get(`${services}/${service.id}/deploys?cursor=${cursor}`),
      api.client(`Bearer ${second.key}`).get(`${services}?cursor=${cursor}`),
      member.client.get(`${services}?cursor=${cursor}`),
      other.owner.client.get(`${other.path}/services?cursor=${cursor}`),
    ];
    for (const response of await Promise.all(refused)) expectError(response, 400, 'invalid_cursor');
    const swapped = cursor.startsWith('A') ? `B${cursor.slice(1)}` : `A${cursor.slice(1)}`;
    const forged = Buffer.alloc(40).toString('base64url');
    for (const text of ['', 'x', swapped, `${cursor}A`, `${cursor}=`, cursor.slice(1), forged, 'null', '%25', '1']) {
      expectError(await workspace.owner.client.get(`${services}?cursor=${text}`), 400, 'invalid_cursor');
    }
  });

  it('records of one millisecond come once each, in the order of their ids', async () => {
    const service = await newService(workspace.owner.client, workspace.path);
    const at = new Date();
    for (let i = 0; i < 5; i++) await newDeployment(api.db, service.id, { status: 'failed', created_at: at });
    const seen: string[] = [];
    let query = '?limit=2';
    for (;;) {
      const { body } = await workspace.owner.client.get(`${services}/${service.id}/deploys${query}`);
      seen.push(...body.items.map((item: Json) => item.id));
      if (body.page.nextCursor === null) break;
      query = `?limit=2&cursor=${body.page.nextCursor}`;
    }
    expect(seen).to.have.length(5);
    expect(seen).to.deep.equal([...new Set(seen)].sort().reverse());
  });
});
