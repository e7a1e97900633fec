import { expect } from 'chai';
import type { ImageManifest } from '../../../../shared/images/model.js';
import type { RouteFacts } from '../../../../shared/routing/store.js';
import {
  addRoutes,
  hostsByService,
  type RouteTable,
  routesOf,
  updateTable,
} from '../../../../workers/edge/route-table.js';
import { MANIFEST } from '../../../support/fixtures.js';

function facts(overrides: Partial<RouteFacts> = {}): RouteFacts {
  return {
    serviceId: 'one',
    slug: 'shop',
    kind: 'web',
    lifecycleStatus: 'active',
    deleted: false,
    version: 1,
    ipAllowList: [],
    maintenance: false,
    maintenancePage: '',
    platformDomainEnabled: true,
    domains: [],
    liveDeploymentId: 'deployment',
    cacheProfile: 'none',
    digest: 'abc',
    manifest: MANIFEST,
    rulesKey: '',
    canary: null,
    replicas: [{ id: 'r1', address: '127.0.0.1', port: 20_000 }],
    hasVolumes: false,
    sleeps: false,
    ...overrides,
  };
}

function routeOf(...given: Parameters<typeof routesOf>) {
  const routes = routesOf(...given);
  expect(routes.length).to.be.at.most(1);
  return routes[0] ?? null;
}

const newTable = (all: RouteFacts[], previous: RouteTable = new Map()) =>
  addRoutes(new Map(), all, { domain: 'd', previous });

describe('route table', () => {
  it('routes a live web service to its ready replicas', () => {
    expect(routeOf(facts(), 'example.org')).to.deep.equal({
      serviceId: 'one',
      host: 'shop.example.org',
      certified: true,
      allow: [],
      maintenance: null,
      sleeps: false,
      target: { type: 'proxy', replicas: [{ id: 'r1', address: '127.0.0.1', port: 20_000 }] },
    });
  });

  it('serves a static image from the folder it publishes', () => {
    const manifest: ImageManifest = { ...MANIFEST, type: 'static', publishDirectory: 'dist' };
    expect(routeOf(facts({ kind: 'static', manifest, cacheProfile: 'all', replicas: [] }), 'd')?.target).to.deep.equal({
      type: 'static',
      digest: 'abc',
      publishDirectory: 'dist',
      fallback: null,
      cacheProfile: 'all',
    });
    const page = { ...manifest, fallback: 'index.html' };
    expect(routeOf(facts({ kind: 'web', manifest: page, replicas: [] }), 'd')?.target).to.include({
      fallback: 'index.html',
    });
  });

  for (const kind of ['private', 'worker', 'cron', 'postgres', 'redis'] as const) {
    it(`never routes a ${kind} service`, () => expect(routeOf(facts({ kind }), 'd')).to.equal(null));
  }

  it('does not know the host of a service that is deleted, being deleted or without the platform domain', () => {
    expect(routeOf(facts({ deleted: true }), 'd')).to.equal(null);
    expect(routeOf(facts({ lifecycleStatus: 'deleting' }), 'd')).to.equal(null);
    expect(routeOf(facts({ lifecycleStatus: 'deleted' }), 'd')).to.equal(null);
    expect(routeOf(facts({ platformDomainEnabled: false }), 'd')).to.equal(null);
  });

  it('says why a service is not available', () => {
    const reason = (overrides: Partial<RouteFacts>) => routeOf(facts(overrides), 'd')?.target;
    expect(reason({ lifecycleStatus: 'suspended' })).to.deep.equal({ type: 'unavailable', reason: 'suspended' });
    expect(reason({ liveDeploymentId: null, digest: null, manifest: null, replicas: [] })).to.deep.equal({
      type: 'unavailable',
      reason: 'not_deployed',
    });
    for (const missing of [{ liveDeploymentId: null }, { digest: null }, { manifest: null }]) {
      expect(reason(missing), JSON.stringify(missing)).to.deep.equal({ type: 'unavailable', reason: 'not_deployed' });
    }
    expect(reason({ replicas: [] })).to.deep.equal({ type: 'unavailable', reason: 'no_ready_replica' });
    expect(reason({ replicas: [], hasVolumes: true })).to.include({ reason: 'no_ready_replica', holds: true });
    expect(reason({ replicas: [], sleeps: true })).to.include({ holds: true, wakes: true });
    expect(reason({ lifecycleStatus: 'suspended', sleeps: true })).not.to.have.property('wakes');
    expect(reason({ lifecycleStatus: 'suspended', hasVolumes: true })).not.to.have.property('holds');
  });

  it('carries the maintenance page and the allow list', () => {
    const route = routeOf(facts({ maintenance: true, maintenancePage: '<p>', ipAllowList: ['10.0.0.0/8'] }), 'd');
    expect(route?.maintenance).to.equal('<p>');
    expect(route?.allow).to.deep.equal(['10.0.0.0/8']);
  });

  it('keeps the object of a route that did not change and replaces one that did', () => {
    const first = newTable([facts(), facts({ serviceId: 'two', slug: 'blog' })]);
    const again = newTable([facts(), facts({ serviceId: 'two', slug: 'blog', maintenance: true })], first);
    expect(again.get('shop.d')).to.equal(first.get('shop.d'));
    expect(again.get('blog.d')).not.to.equal(first.get('blog.d'));
    expect(first.get('blog.d')?.maintenance).to.equal(null);
  });

  it('changes one service and leaves the others; a changed slug leaves no old host behind', () => {
    const table = new Map(newTable([facts(), facts({ serviceId: 'two', slug: 'blog' })]));
    const hosts: Map<string, readonly string[]> = hostsByService(table);
    const update = (...all: RouteFacts[]) => [...updateTable(table, hosts, all, { domain: 'd' })].sort();
    expect(update(facts())).to.deep.equal([]);
    expect(update(facts({ slug: 'store' }))).to.deep.equal(['shop.d', 'store.d']);
    expect([...table.keys()].sort()).to.deep.equal(['blog.d', 'store.d']);
    expect(update(facts({ slug: 'store', deleted: true }))).to.deep.equal(['store.d']);
    expect([...table.keys()]).to.deep.equal(['blog.d']);
    expect(hosts).to.deep.equal(hostsByService(table));
  });

  it('gives a host to another service, whichever of the two is read first', () => {
    const [from, to] = [facts({ slug: 'old' }), facts({ serviceId: 'two', slug: 'shop' })];
    for (const order of [
      [from, to],
      [to, from],
    ]) {
      const table = new Map(newTable([facts(), facts({ serviceId: 'two', slug: 'blog' })]));
      updateTable(table, hostsByService(table), order, { domain: 'd' });
      expect([...table].map(([host, { serviceId }]) => `${host} ${serviceId}`).sort()).to.deep.equal([
        'old.d one',
        'shop.d two',
      ]);
    }
  });

  it('serves a service under its own domains too, and under them alone if it wants no name of the platform', () => {
    const domains = [
      { hostname: 'shop.test', leadsHere: true, redirectTo: null },
      { hostname: 'www.shop.test', leadsHere: false, redirectTo: null },
    ];
    const places = (platformDomainEnabled: boolean) =>
      routesOf(facts({ domains, platformDomainEnabled }), 'example.org').map(({ host, certified }) => [
        host,
        certified,
      ]);
    const own = [
      ['shop.test', true],
      ['www.shop.test', false],
    ];
    expect(places(true)).to.deep.equal([['shop.example.org', true], ...own]);
    expect(places(false)).to.deep.equal(own);
    expect(routesOf(facts({ domains, deleted: true }), 'example.org')).to.deep.equal([]);
  });
});
