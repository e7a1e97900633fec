import { expect } from 'chai';
import { insertOutbox } from '../../../shared/db/outbox.js';
import type { DeploymentRow, ServiceRow } from '../../../shared/db/rows.js';
import { createLogger } from '../../../shared/log.js';
import { jobId } from '../../../shared/queues/catalog.js';
import { Dispatcher } from '../../../shared/queues/dispatcher.js';
import { createEngine, type Engine } from '../../../shared/queues/engine.js';
import { Sensitive } from '../../../shared/secrets/sensitive.js';
import { makeDeployment, makeService, makeWorker, makeWorkspace } from '../../support/factories.js';
import { describeEngines } from '../../support/platform.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';
import { startRedis, type TestRedis } from '../../support/redis.js';

const log = createLogger('test', 'silent');

describeEngines('Admission and dispatch', (name) => {
  let database: TestDatabase;
  let redis: TestRedis | null = null;
  let engine: Engine;
  let dispatcher: Dispatcher;

  before(async () => {
    database = await createTestDatabase();
    redis = name === 'redis' ? await startRedis() : null;
    const config = {
      databaseUrl: new Sensitive(database.url),
      redisUrl: redis ? new Sensitive(redis.url) : null,
    };
    engine = await createEngine(config, log, 'test');
    dispatcher = new Dispatcher(database.db, engine, log);
  });

  after(async () => {
    await dispatcher.close();
    await engine.close();
    await redis?.stop();
    await database.drop();
  });

  beforeEach(async () => {
    await database.db.raw('truncate workspaces, workers, outbox cascade');
    for (const queue of Object.values(engine.queues)) await queue.obliterate({ force: true });
  });

  async function admitted(services: ServiceRow[]): Promise<DeploymentRow[]> {
    return database
      .db<DeploymentRow>('deployments')
      .whereIn(
        'service_id',
        services.map((service) => service.id),
      )
      .whereNotNull('admitted_at')
      .orderBy('number');
  }

  async function finish(rows: DeploymentRow[]): Promise<void> {
    await database
      .db('deployments')
      .whereIn(
        'id',
        rows.map((row) => row.id),
      )
      .update({ status: 'live' });
  }

  it('a deployment waits, and says why, until a worker is online', async () => {
    const service = await makeService(database.db);
    const deployment = await makeDeployment(database.db, service);
    await dispatcher.dispatch();
    const waiting = await database.db<DeploymentRow>('deployments').where({ id: deployment.id }).first();
    expect(waiting?.blocked_reason).to.equal('No worker is online');
    expect(await engine.isPending('deploy', deployment.id, 1)).to.equal(false);

    await makeWorker(database.db, 1);
    await dispatcher.dispatch();
    const running = await database.db<DeploymentRow>('deployments').where({ id: deployment.id }).first();
    expect(running?.blocked_reason).to.equal('');
    expect(await engine.isPending('deploy', deployment.id, 1)).to.equal(true);
  });

  it('one deployment of a service runs at a time, in the order of arrival', async () => {
    await makeWorker(database.db, 10);
    const service = await makeService(database.db, await makeWorkspace(database.db, { buildConcurrency: 10 }));
    const first = await makeDeployment(database.db, service);
    const second = await makeDeployment(database.db, service);
    await dispatcher.dispatch();
    expect((await admitted([service])).map((row) => row.id)).to.deep.equal([first.id]);
    const waiting = await database.db<DeploymentRow>('deployments').where({ id: second.id }).first();
    expect(waiting?.blocked_reason).to.equal(`Waits for deployment ${first.id} of this service`);

    await finish([first]);
    await dispatcher.dispatch();
    expect((await admitted([service])).map((row) => row.id)).to.deep.equal([first.id, second.id]);
  });

  it('a workspace runs as many as its buildConcurrency', async () => {
    await makeWorker(database.db, 10);
    const workspace = await makeWorkspace(database.db, { buildConcurrency: 2 });
    const services = await Promise.all([1, 2, 3].map(() => makeService(database.db, workspace)));
    for (const service of services) await makeDeployment(database.db, service);
    await dispatcher.dispatch();
    expect(await admitted(services)).to.have.length(2);
    const [waiting] = await database.db<DeploymentRow>('deployments').whereNull('admitted_at');
    expect(waiting?.blocked_reason).to.match(/^The workspace runs 2 deployments/);
  });

  it('the workspaces take turns at the slots of the workers', async () => {
    await makeWorker(database.db, 2);
    const greedy = await makeWorkspace(database.db, { buildConcurrency: 100 });
    const modest = await makeWorkspace(database.db);
    const many = await Promise.all(Array.from({ length: 20 }, () => makeService(database.db, greedy)));
    for (const service of many) await makeDeployment(database.db, service);
    const late = await makeService(database.db, modest);
    await makeDeployment(database.db, late);
    await dispatcher.dispatch();
    expect(await admitted([late])).to.have.length(1);
    expect(await admitted(many)).to.have.length(1);
  });

  it('200 queued deployments of one workspace do not delay another’s by more than one build', async () => {
    await makeWorker(database.db, 1);
    const greedy = await makeWorkspace(database.db, { buildConcurrency: 100 });
    const many = await Promise.all(Array.from({ length: 20 }, () => makeService(database.db, greedy)));
    for (let round = 0; round < 10; round++) for (const service of many) await makeDeployment(database.db, service);
    await dispatcher.dispatch();
    const late = await makeService(database.db);
    await makeDeployment(database.db, late);
    await dispatcher.dispatch();
    expect(await admitted([late])).to.have.length(0);
    await finish(await admitted(many));
    await dispatcher.dispatch();
    expect(await admitted([late])).to.have.length(1);
  });

  it('admission is atomic under concurrent dispatchers', async () => {
    await makeWorker(database.db, 3);
    const workspace = await makeWorkspace(database.db, { buildConcurrency: 100 });
    const services = await Promise.all(Array.from({ length: 10 }, () => makeService(database.db, workspace)));
    for (const service of services) await makeDeployment(database.db, service);
    const others = Array.from({ length: 5 }, () => new Dispatcher(database.db, engine, log));
    await Promise.all(others.map((other) => other.dispatch()));
    expect(await admitted(services)).to.have.length(3);
    expect(await engine.queues.deploy.getJobCountByTypes('waiting')).to.equal(3);
  });

  it('an entry that was added but not taken off by a crash is harmless when it is added again', async () => {
    const entry = { queue: 'deploy', record_id: crypto.randomUUID(), dispatch: 1, payload: { deploymentId: 'x' } };
    await insertOutbox(database.db, entry);
    await insertOutbox(database.db, entry);
    await dispatcher.dispatch();
    expect(await database.db('outbox')).to.deep.equal([]);
    expect(await engine.queues.deploy.getJobCountByTypes('waiting')).to.equal(1);
    expect(await engine.queues.deploy.getJobState(jobId('deploy', entry.record_id, 1))).to.equal('waiting');
  });

  it('an entry that is not due stays', async () => {
    await insertOutbox(
      database.db,
      { queue: 'deletion', record_id: crypto.randomUUID(), dispatch: 1, payload: {} },
      60_000,
    );
    await dispatcher.dispatch();
    expect(await database.db('outbox')).to.have.length(1);
  });

  if (name === 'redis') {
    it('engine_unavailable is thrown where the engine has gone away', async () => {
      const server = await startRedis();
      const config = { databaseUrl: new Sensitive(database.url), redisUrl: new Sensitive(server.url) };
      const away = await createEngine(config, log, 'test-away');
      await away.ping();
      await server.stop();
      try {
        await away.ping();
        expect.fail('the ping was answered');
      } catch (error) {
        expect((error as { code?: string }).code).to.equal('engine_unavailable');
      } finally {
        await away.close();
      }
    });
  }
});
