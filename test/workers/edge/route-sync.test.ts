import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { CHANNELS, Listener } from '../../../shared/core/database/listener.js';
import { createLogger } from '../../../shared/core/log.js';
import {
  type EdgeFigures,
  loadRouteFacts,
  removeEdge,
  reportEdge,
  waitingEdges,
} from '../../../shared/routing/store.js';
import type { Edge } from '../../../workers/edge/edge.js';
import { RouteSync } from '../../../workers/edge/route-sync.js';
import type { RouteTable } from '../../../workers/edge/route-table.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';
import { eventually } from '../../support/processes.js';
import { Records, type Service } from './records.js';
import { ask, Bench, type TestEdge } from './support.js';

const log = createLogger('test-edge', 'silent');
const DOMAIN = 'sites.test';
const NO_FIGURES: EdgeFigures = {
  connections: 0,
  requests: 0,
  upgraded: 0,
  failedExchanges: 0,
  closedConnections: 0,
  refusedConnections: 0,
};

describe('edge and PostgreSQL', () => {
  let database: TestDatabase;
  let records: Records;
  let bench: Bench;
  const closers: (() => Promise<unknown>)[] = [];

  before(async () => {
    database = await createTestDatabase();
    records = new Records(database.db);
    await records.workspace();
  });
  after(() => database.drop());
  beforeEach(() => {
    bench = new Bench();
  });
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
    await bench.close();
  });

  async function startEdge(): Promise<{ edge: TestEdge; sync: RouteSync; id: string }> {
    const identity = { id: randomUUID(), host: 'test', pid: process.pid };
    const edge: TestEdge = await bench.edge({ refresh: (id) => sync.reload(id) });
    const sync: RouteSync = new RouteSync({ db: database.db, log, edge, identity, domain: DOMAIN });
    const listener = new Listener(database.url, log);
    listener.on(CHANNELS.route, (id) => sync.wake(id));
    closers.push(async () => {
      await listener.close();
      await sync.close();
      await removeEdge(database.db, identity.id);
    });
    await listener.start();
    await sync.start();
    return { edge, sync, id: identity.id };
  }

  const hostOf = (service: Service) => `${service.slug}.${DOMAIN}`;

  it('serves what is stored, follows every change, and acknowledges it', async () => {
    const one = await bench.replica((_req, res) => res.end('one'));
    const two = await bench.replica((_req, res) => res.end('two'));
    const service = await records.service();
    const first = await records.release(service, [one]);
    const { edge } = await startEdge();
    expect((await ask(edge.port, '/', { host: hostOf(service) })).text).to.equal('one');
    await eventually(
      'the first version is acknowledged',
      async () => (await waitingEdges(database.db, service.id, first)) === 0,
    );

    const second = await records.release(service, [two]);
    await eventually('the second is too', async () => (await waitingEdges(database.db, service.id, second)) === 0);
    expect((await ask(edge.port, '/', { host: hostOf(service) })).text).to.equal('two');

    const suspended = await records.change(service, { lifecycle_status: 'suspended' });
    await eventually('it is suspended', async () => (await waitingEdges(database.db, service.id, suspended)) === 0);
    expect((await ask(edge.port, '/', { host: hostOf(service) })).status).to.equal(503);

    const deleted = await records.change(service, { lifecycle_status: 'deleted', deleted_at: new Date() });
    await eventually('it is gone', async () => (await waitingEdges(database.db, service.id, deleted)) === 0);
    expect((await ask(edge.port, '/', { host: hostOf(service) })).status).to.equal(404);
  });

  it('acknowledges a version only when it serves it and the older one is drained', async () => {
    let finish: () => void = () => undefined;
    let asked = false;
    const old = await bench.replica((_req, res) => {
      if (asked) return res.end('old');
      asked = true;
      finish = () => res.end('old');
    });
    const fresh = await bench.replica((_req, res) => res.end('new'));
    const service = await records.service();
    await records.release(service, [old]);
    const { edge, sync } = await startEdge();
    const slow = ask(edge.port, '/', { host: hostOf(service) });
    await eventually('the old release has a request', () => asked);

    const version = await records.release(service, [fresh]);
    const host = hostOf(service);
    await eventually('the new release serves', async () => (await ask(edge.port, '/', { host })).text === 'new');
    await sync.reload(null);
    expect(await waitingEdges(database.db, service.id, version)).to.equal(1);
    finish();
    expect((await slow).text).to.equal('old');
    await eventually('it is acknowledged', async () => (await waitingEdges(database.db, service.id, version)) === 0);
  });

  it('routes only to replicas of the live release that are wanted and ready', async () => {
    const replica = await bench.replica((_req, res) => res.end('ok'));
    const service = await records.service();
    await records.release(service, [await bench.deadReplica()]);
    await records.release(service, [replica, await bench.deadReplica(), await bench.deadReplica()]);
    await database.db('replicas').where({ service_id: service.id, position: 1 }).update({ desired: 'stopped' });
    await database.db('replicas').where({ service_id: service.id, position: 2 }).update({ state: 'unhealthy' });
    const [facts] = await loadRouteFacts(database.db, [service.id]);
    expect(facts?.replicas.map(({ port }) => port)).to.deep.equal([replica.port]);
    expect(facts).to.include({ digest: 'd', cacheProfile: 'static', maintenance: false, platformDomainEnabled: true });
  });

  it('finds the new release without a notification when the old one refuses', async () => {
    const service = await records.service();
    await records.release(service, [await bench.deadReplica()]);
    const { edge } = await startEdge();
    const replica = await bench.replica((_req, res) => res.end('found'));
    // Without a NOTIFY, only the refused connection tells the edge of the change.
    await database.db('replicas').where({ service_id: service.id }).update({ port: replica.port });
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => ask(edge.port, '/', { host: hostOf(service), method: 'POST', body: 'x' })),
    );
    expect(answers.map(({ text }) => text)).to.deep.equal(Array(5).fill('found'));
  });

  it('finds a new service and a change of which it was not notified, without loading all routes', async () => {
    const service = await records.service();
    await records.release(service, [await bench.replica((_req, res) => res.end('one'))]);
    const { edge } = await startEdge();
    const host = hostOf(service);
    expect((await ask(edge.port, '/', { host })).text).to.equal('one');
    let all = 0;
    const count = ({ sql }: { sql: string }) => {
      if (sql.startsWith('declare facts ')) all += 1;
    };
    database.db.on('query', count);
    const fresh = await records.service();
    await database.db.raw(
      `update services set lifecycle_status = 'suspended', route_version = nextval('route_versions') where id = ?`,
      [service.id],
    );
    await eventually('the change is served', async () => (await ask(edge.port, '/', { host })).status === 503);
    await eventually('the new service is known', async () => {
      return (await ask(edge.port, '/', { host: hostOf(fresh) })).status === 503;
    });
    database.db.off('query', count);
    expect(all).to.equal(0);
  });

  it('loads all routes in pages if very many have changed', async () => {
    const service = await records.service();
    await records.release(service, []);
    const { edge } = await startEdge();
    await database.db.raw(
      `insert into services (id, workspace_id, name, slug, kind, configuration)
       select gen_random_uuid(), workspace_id, name, 'many-' || n, kind, configuration
         from services, generate_series(1, 1200) n where id = ?`,
      [service.id],
    );
    const statements: { page: boolean; ids: number }[] = [];
    const note = ({ sql, bindings }: { sql: string; bindings: unknown[] }) => {
      if (!sql.includes('"serviceId", s.slug')) return;
      const [ids] = bindings;
      statements.push({ page: sql.startsWith('declare facts '), ids: Array.isArray(ids) ? ids.length : 0 });
    };
    database.db.on('query', note);
    await eventually('the last one is known', async () => {
      return (await ask(edge.port, '/', { host: `many-1200.${DOMAIN}` })).status === 503;
    });
    database.db.off('query', note);
    expect(statements.filter(({ page }) => page)).to.have.length.at.least(1);
    for (const { ids } of statements) expect(ids).to.be.at.most(500);
  });

  it('acknowledges old routes together when it starts, and new ones each', async () => {
    const old = await records.service();
    const version = await records.release(old, []);
    await database.db.raw(`select setval('route_versions', nextval('route_versions') + 10000)`);
    const service = await records.service();
    const newer = await records.release(service, []);
    const { id } = await startEdge();
    const waiting = async () =>
      (await waitingEdges(database.db, old.id, version)) + (await waitingEdges(database.db, service.id, newer));
    await eventually('both are acknowledged', async () => (await waiting()) === 0);
    const rows = await database.db('edge_acknowledgements').where({ edge_id: id }).pluck('service_id');
    expect(rows).to.include(service.id).and.not.to.include(old.id);
    const changed = await records.change(old, { lifecycle_status: 'suspended' });
    await eventually('a change too', async () => (await waitingEdges(database.db, old.id, changed)) === 0);
  });

  it('shares one query between those who ask while another runs', async () => {
    const service = await records.service();
    const { sync } = await startEdge();
    let queries = 0;
    const count = ({ sql }: { sql: string }) => {
      if (sql.includes('from services s')) queries += 1;
    };
    database.db.on('query', count);
    await Promise.all(Array.from({ length: 50 }, () => sync.reload(service.id)));
    database.db.off('query', count);
    expect(queries).to.be.at.most(2);
  });

  it('waits for edges that are seen and for no others', async () => {
    const service = await records.service();
    const version = await records.change(service, {});
    expect(await waitingEdges(database.db, service.id, version)).to.equal(0);
    const identity = { id: randomUUID(), host: 'test', pid: 1 };
    expect(await reportEdge(database.db, identity, NO_FIGURES)).to.equal(true);
    expect(await reportEdge(database.db, identity, NO_FIGURES)).to.equal(false);
    expect(await waitingEdges(database.db, service.id, version)).to.equal(1);
    await database.db.raw(`update edges set seen_at = now() - interval '7 seconds' where id = ?`, [identity.id]);
    expect(await waitingEdges(database.db, service.id, version)).to.equal(0);
    await removeEdge(database.db, identity.id);
  });

  it('acknowledges services of kinds without a route, so that no worker waits for them', async () => {
    const service = await records.service('worker');
    await startEdge();
    const version = await records.change(service, {});
    await eventually('it is acknowledged', async () => (await waitingEdges(database.db, service.id, version)) === 0);
  });

  it('makes itself known again, with all it serves, when PostgreSQL has forgotten it', async () => {
    const service = await records.service();
    const version = await records.change(service, {});
    const { id } = await startEdge();
    await removeEdge(database.db, id);
    await eventually('it is back', async () => (await database.db('edges').where({ id })).length === 1);
    await eventually('it acknowledged', async () => (await waitingEdges(database.db, service.id, version)) === 0);
  });

  it('keeps the table while PostgreSQL does not answer', async () => {
    const own = await createTestDatabase();
    const tables: RouteTable[] = [];
    const edge: Edge = {
      figures: NO_FIGURES,
      listen: async () => undefined,
      close: async () => undefined,
      apply: async (table) => void tables.push(table),
    };
    const ownRecords = new Records(own.db);
    await ownRecords.workspace();
    const service = await ownRecords.service();
    await ownRecords.change(service, {});
    const identity = { id: randomUUID(), host: 'test', pid: 1 };
    const sync = new RouteSync({ db: own.db, log, edge, identity, domain: DOMAIN });
    await sync.start();
    await own.drop();
    let failed = false;
    await sync.reload(null).catch(() => {
      failed = true;
    });
    await sync.close();
    expect(failed).to.equal(true);
    expect(tables).to.have.length(1);
    expect([...(tables[0]?.keys() ?? [])]).to.deep.equal([hostOf(service)]);
  });
});
