import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { createLogger } from '../../shared/core/log.js';
import type { DomainRow } from '../../shared/domains/model.js';
import { deleteReleasedDomains, releaseDomains } from '../../shared/domains/store.js';
import { eraseService } from '../../shared/lifecycle/store.js';
import { loadRouteFacts } from '../../shared/routing/store.js';
import { checkDomains } from '../../workers/sweeps/check-domains.js';
import { expectError, type Json, newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { type NameServer, NO_DNSMASQ, startNameServer } from '../support/name-server.js';

const WEB = { kind: 'web', configuration: { repository: 'https://example.com/shop.git' } };

describe('Domains', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let service: Json;
  let path: string;

  useTestApi((given) => ({ api, workspace } = given));
  beforeEach(async () => {
    service = await newService(workspace.owner.client, workspace.path, WEB);
    path = `${workspace.path}/services/${service.id}/domains`;
  });
  const add = (hostname: string, at = path) => workspace.owner.client.post(at, { hostname });
  const hostsOf = async (id: string) => (await loadRouteFacts(api.db, [id]))[0]?.domains.map((d) => d.hostname);

  it('name the record that proves their owner, and are pending until it is there', async () => {
    const { status, body } = await add('Shop.Example.com');
    expect(status).to.equal(201);
    const { id, createdAt, updatedAt, verification, ...rest } = body.domain;
    expect(rest).to.deep.equal({ hostname: 'shop.example.com', status: 'pending', detail: '' });
    expect(verification).to.include({ type: 'TXT', name: '_ranvier.shop.example.com' });
    expect(Date.parse(createdAt)).to.equal(Date.parse(updatedAt));
    const list = await workspace.owner.client.get(path);
    expect(list.body.domains).to.deep.equal([body.domain]);
    expect(list.body.page).to.include({ hasMore: false });
    expect(await hostsOf(service.id)).to.deep.equal([]);
    expect((await workspace.owner.client.delete(`${path}/${id}`)).body).to.deep.equal({ deleted: true });
    expectError(await workspace.owner.client.delete(`${path}/${id}`), 404, 'not_found');
    expect((await workspace.owner.client.get(path)).body.domains).to.deep.equal([]);
  });

  it('are refused with the reason', async () => {
    for (const hostname of ['shop', '*.example.com', '192.0.2.7', 'a b.example.com', `x.${api.config.edgeDomain}`]) {
      const refused = await add(hostname);
      expectError(refused, 400, 'invalid_request');
      expect(refused.body.error.details[0].path).to.equal('/hostname');
    }
    expectError(await add('shop.example.com', `${workspace.path}/services/${uuidv7()}/domains`), 404, 'not_found');
    const worker = await newService(workspace.owner.client, workspace.path, { ...WEB, kind: 'worker' });
    expectError(await add('jobs.example.com', `${workspace.path}/services/${worker.id}/domains`), 409, 'conflict');
    expectError(
      await (await workspace.member('viewer')).client.post(path, { hostname: 'shop.example.com' }),
      403,
      'forbidden',
    );
  });

  it('belong to one service of a workspace', async () => {
    await add('shop.example.com');
    const other = await newService(workspace.owner.client, workspace.path, WEB);
    const again = await add('shop.example.com', `${workspace.path}/services/${other.id}/domains`);
    expectError(again, 409, 'conflict');
    expect(again.body.error.message).to.include(service.name);
  });

  describe(`with a name server${NO_DNSMASQ && `: ${NO_DNSMASQ}`}`, () => {
    let server: NameServer;
    before(async function () {
      if (NO_DNSMASQ !== '') this.skip();
      server = await startNameServer();
    });
    beforeEach(() => {
      api.config.dnsServers = [server.address];
    });
    after(() => server?.stop());

    const prove = (...domains: Json[]) =>
      server.serve({ texts: Object.fromEntries(domains.map(({ verification: { name, value } }) => [name, value])) });
    const verify = async ({ id }: Json, at = path) =>
      (await workspace.owner.client.post(`${at}/${id}/verify`)).body.domain;

    it('are served from the moment on that their record is found, and not after they are deleted', async () => {
      const { domain } = (await add('shop.test')).body;
      await server.serve({});
      expect(await verify(domain))
        .to.include({ status: 'pending' })
        .with.property('detail')
        .that.includes('does not exist');
      await server.serve({ texts: { '_ranvier.shop.test': 'something else' } });
      expect((await verify(domain)).detail).to.include('has another value');
      await prove(domain);
      expect(await verify(domain)).to.include({ status: 'active', detail: '' });
      expect(await hostsOf(service.id)).to.deep.equal(['shop.test']);

      const change = { configuration: { platformDomainEnabled: false } };
      const only = await workspace.owner.client.patch(`${workspace.path}/services/${service.id}`, change);
      expect(new URL(only.body.service.url).hostname).to.equal('shop.test');
      await workspace.owner.client.delete(`${path}/${domain.id}`);
      expect(await hostsOf(service.id)).to.deep.equal([]);
      const { body } = await workspace.owner.client.get(`${workspace.path}/services/${service.id}`);
      expect(body.service.url).to.equal('');
    });

    it('are looked for by the workers without being asked', async () => {
      const { domain } = (await add('soon.test')).body;
      await prove(domain);
      await checkDomains({ ...api, log: createLogger('test', 'silent') });
      expect((await workspace.owner.client.get(path)).body.domains[0]).to.include({ status: 'active' });
      expect(await checkDomains({ ...api, log: createLogger('test', 'silent') })).to.deep.equal([]);
    });

    it('stay with the workspace that proved them, some days beyond the deletion of their service', async () => {
      const { domain } = (await add('mine.test')).body;
      const other = await api.workspace();
      const theirs = await newService(other.owner.client, other.path, WEB);
      const at = `${other.path}/services/${theirs.id}/domains`;
      const claim = (await other.owner.client.post(at, { hostname: 'mine.test' })).body.domain;
      expect(claim.verification.value).not.to.equal(domain.verification.value);
      const verifyTheirs = async () => (await other.owner.client.post(`${at}/${claim.id}/verify`)).body.domain;

      await prove(domain);
      expect(await verify(domain)).to.include({ status: 'active' });
      expect(await verifyTheirs()).to.include({ status: 'pending' });
      await prove(claim);
      expect((await verifyTheirs()).detail).to.include('another workspace');

      await api.db.transaction((trx) => eraseService(trx, service.id));
      expect(await verifyTheirs()).to.include({ status: 'pending' });
      await api
        .db<DomainRow>('domains')
        .where({ id: domain.id })
        .update({ released_at: new Date(Date.now() - 8 * 86_400_000) });
      expect(await deleteReleasedDomains(api.db)).to.equal(1);
      expect(await verifyTheirs()).to.include({ status: 'active' });
    });

    it('can be given to another service of the workspace after the deletion of their first one', async () => {
      const { domain } = (await add('moved.test')).body;
      await prove(domain);
      await verify(domain);
      await api.db.transaction((trx) => releaseDomains(trx, service.id));
      const next = await newService(workspace.owner.client, workspace.path, WEB);
      const at = `${workspace.path}/services/${next.id}/domains`;
      const moved = (await add('moved.test', at)).body.domain;
      expect(await verify(moved, at)).to.include({ status: 'active' });
    });
  });
});
