import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import {
  acknowledgeRoutes,
  acknowledgeRoutesUpTo,
  loadAllRouteFacts,
  loadRouteFacts,
  reportEdge,
  routeVersionsSince,
  waitingEdges,
} from '../../../../shared/routing/store.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { makeService } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { NO_EDGE_FIGURES, newDeployment, newEnvironment, pretendLive } from '../../../support/records.js';

describe('The records of routes', () => {
  const database = useTestDatabase();
  let service: ServiceRow;
  beforeEach(async () => {
    await database.db('edges').delete();
    service = await makeService(database.db);
  });

  async function all(): Promise<string[][]> {
    const pages: string[][] = [];
    await loadAllRouteFacts(database.db, async (facts) => void pages.push(facts.map(({ serviceId }) => serviceId)));
    return pages;
  }

  async function edge(): Promise<string> {
    const id = uuidv7();
    expect(await reportEdge(database.db, { id, host: 'host', pid: 1 }, NO_EDGE_FIGURES)).to.equal(true);
    return id;
  }

  const acknowledge = (edgeId: string, version: number) =>
    acknowledgeRoutes(database.db, edgeId, [{ serviceId: service.id, version }]);
  const waiting = (version: number) => waitingEdges(database.db, service.id, version);

  it('an edge is waited for until it has acknowledged the version or a later one', async () => {
    const [one, two] = [await edge(), await edge()];
    expect(await waiting(7)).to.equal(2);
    await acknowledge(one, 6);
    expect(await waiting(7)).to.equal(2);
    await acknowledge(one, 7);
    await acknowledge(two, 8);
    expect(await waiting(7)).to.equal(0);
    await acknowledge(two, 5);
    expect(await waiting(8), 'an acknowledgement never goes back').to.equal(1);
  });

  it('an edge that serves all routes up to a version says so in one number', async () => {
    const id = await edge();
    expect(await acknowledgeRoutesUpTo(database.db, id, 7)).to.equal(true);
    expect([await waiting(7), await waiting(8)]).to.deep.equal([0, 1]);
    await acknowledge(id, 8);
    expect(await waiting(8)).to.equal(0);
    await acknowledgeRoutesUpTo(database.db, id, 6);
    expect(await waiting(7), 'it never goes back').to.equal(0);
    expect(await acknowledgeRoutesUpTo(database.db, uuidv7(), 7), 'of an unknown edge').to.equal(false);
  });

  it('an edge that was silent for six seconds is not waited for', async () => {
    const id = await edge();
    await database.db.raw(`update edges set seen_at = now() - interval '5 seconds'`);
    expect(await waiting(1)).to.equal(1);
    await database.db.raw(`update edges set seen_at = now() - interval '7 seconds'`);
    expect(await waiting(1)).to.equal(0);
    expect(await reportEdge(database.db, { id, host: 'host', pid: 1 }, NO_EDGE_FIGURES), 'it was known').to.equal(
      false,
    );
    expect(await waiting(1), 'it was seen again').to.equal(1);
  });

  it('an edge that is not known acknowledges nothing', async () => {
    expect(await acknowledge(uuidv7(), 1)).to.deep.equal([]);
  });

  it('only replicas of the live release that are ready and wanted take requests', async () => {
    const live = await pretendLive(database.db, service.id);
    const other = await newDeployment(database.db, service.id, { status: 'releasing' });
    const insert = async (position: number, fields: object) => {
      const id = uuidv7();
      const row = { id, service_id: service.id, deployment_id: live, host_id: uuidv7(), position, port: 20_000 };
      await database.db('replicas').insert({ ...row, state: 'ready', ...fields });
      return id;
    };
    const good = await insert(1, {});
    await insert(2, { state: 'unhealthy' });
    await insert(3, { desired: 'stopped' });
    await insert(4, { port: null });
    await insert(5, { deployment_id: other });
    await makeService(database.db);
    const [facts, ...others] = await loadRouteFacts(database.db, [service.id]);
    expect(others, 'no other service').to.deep.equal([]);
    expect(facts?.replicas.map(({ id }) => id)).to.deep.equal([good]);
    expect(facts).to.include({ liveDeploymentId: live, slug: service.slug, deleted: false });
  });

  it('of services that went live together are read together', async () => {
    const { db } = database;
    const id = uuidv7();
    const { environmentId } = await newEnvironment(db, service.workspace_id);
    const place = { workspace_id: service.workspace_id };
    await db('stacks').insert({ id, ...place, environment_id: environmentId, name: 'shop' });
    const apply = { id, ...place, stack_id: id, actor: '', reads_protected: false, together: true, plan: '{}' };
    await db('stack_applies').insert(apply);
    const [other, third] = [await makeService(db), await makeService(db)];
    for (const each of [service, other, third]) {
      const deploymentId = await pretendLive(db, each.id);
      await db('deployments').where({ id: deploymentId }).update({ together_id: id });
    }
    // The third service was deployed again since, alone.
    await pretendLive(db, third.id);
    const ids = async (asked: string) =>
      (await loadRouteFacts(db, [asked])).map(({ serviceId }) => serviceId).toSorted();
    expect(await ids(service.id)).to.deep.equal([service.id, other.id].toSorted());
    expect(await ids(third.id)).to.deep.equal([third.id]);
  });

  it('a service stays among the routes for an hour after its deletion', async () => {
    const ids = async () => (await all()).flat();
    await database.db.raw(`update services set deleted_at = now() - interval '59 minutes' where id = ?`, [service.id]);
    expect(await ids()).to.include(service.id);
    await database.db.raw(`update services set deleted_at = now() - interval '61 minutes' where id = ?`, [service.id]);
    expect(await ids()).to.not.include(service.id);
  });

  it('all routes are read in pages, each service once', async () => {
    const { db } = database;
    await db.raw(
      `insert into services (id, workspace_id, name, slug, kind, configuration)
       select gen_random_uuid(), workspace_id, name, slug || n, kind, configuration
         from services, generate_series(1, 4100) n where id = ?`,
      [service.id],
    );
    const pages = await all();
    expect(pages.length).to.be.at.least(3);
    const count = await db('services').whereNull('deleted_at').count({ n: '*' }).first();
    expect(new Set(pages.flat()).size).to.equal(Number(count?.n));
    expect(pages.flat()).to.have.length(Number(count?.n));
  });

  it('a service has a version from its beginning, and those that changed since a version are found', async () => {
    const { db } = database;
    const one = await db('services').where({ id: service.id }).first('route_version');
    expect(one.route_version).to.be.greaterThan(0);
    const versions = await routeVersionsSince(db, one.route_version - 1);
    expect(versions).to.deep.include({ serviceId: service.id, version: one.route_version });
    await db.raw(`select setval('route_versions', nextval('route_versions') + 10000)`);
    const newer = await makeService(db);
    const two = await db('services').where({ id: newer.id }).first('route_version');
    expect(await routeVersionsSince(db, two.route_version - 1)).to.deep.equal([
      { serviceId: newer.id, version: two.route_version },
    ]);
  });
});
