import { expect } from 'chai';
import { createLogger } from '../../../../shared/core/log.js';
import { Sensitive } from '../../../../shared/core/sensitive.js';
import { admitDeployments } from '../../../../shared/deployments/deployment-admission.js';
import type { DeploymentRow } from '../../../../shared/deployments/rows.js';
import { makeDue } from '../../../../shared/engine/due-records.js';
import { claim } from '../../../../shared/engine/transition.js';
import { OPERATIONS } from '../../../../shared/operations/kind.js';
import { Dispatcher } from '../../../../shared/queues/dispatcher.js';
import { createEngine, type Engine } from '../../../../shared/queues/queue-engine.js';
import { jobId } from '../../../../shared/queues/work-catalog.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { makeDeployment, makeOperation, makeService, makeWorker, makeWorkspace } from '../../../support/factories.js';
import { describeEngines } from '../../../support/platform.js';
import { createTestDatabase, type TestDatabase } from '../../../support/postgres.js';
import { eventually } from '../../../support/processes.js';
import { startRedis, type TestRedis } from '../../../support/redis.js';

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
    await database.db.raw('truncate workspaces, workers cascade');
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
      .update({ status: 'live', finished_at: database.db.fn.now() });
  }

  async function reasonOf(id: string): Promise<string> {
    let reason = '';
    await eventually('the reason is recorded', async () => {
      await dispatcher.dispatch();
      const row = await database.db<DeploymentRow>('deployments').where({ id }).first();
      reason = row?.blocked_reason ?? '';
      return reason !== '';
    });
    return reason;
  }

  it('a deployment waits, and says why, until a worker is online', async () => {
    const service = await makeService(database.db);
    const deployment = await makeDeployment(database.db, service);
    expect(await reasonOf(deployment.id)).to.equal('No worker is online');
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
    expect(await reasonOf(second.id)).to.equal(`Waits for deployment ${first.id} of this service`);

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
    expect(await reasonOf(waiting?.id ?? '')).to.equal(
      'The workspace runs as many deployments as its buildConcurrency allows (2); this one starts when one ends',
    );
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

  it('an admitted deployment whose job a crash kept from the queue gets it when it is due', async () => {
    await makeWorker(database.db, 1);
    const { id } = await makeDeployment(database.db, await makeService(database.db));
    await admitDeployments(database.db);
    await dispatcher.dispatch();
    expect(await engine.isPending('deploy', id, 1)).to.equal(false);
    await database.db('deployments').where({ id }).update({ due_at: database.db.fn.now() });
    await dispatcher.dispatch();
    expect(await engine.isPending('deploy', id, 1)).to.equal(true);
  });

  async function newOperation(kind: 'delete' | 'restart' = 'delete') {
    return makeOperation(database.db, await makeService(database.db), kind);
  }

  it('a record that a crash left due after its job was added gets no second job', async () => {
    const { id } = await newOperation();
    await dispatcher.dispatch();
    await database.db('operations').where({ id }).update({ due_at: database.db.fn.now() });
    await dispatcher.dispatch();
    expect(await engine.queues.deletion.getJobCountByTypes('waiting')).to.equal(1);
    expect(await engine.queues.deletion.getJobState(jobId('deletion', id, 1))).to.equal('waiting');
    const [operation] = await database.db('operations').where({ id });
    expect(operation.due_at).to.equal(null);
  });

  it('records are handed over in the order in which they became due', async () => {
    const operations = [];
    for (let i = 0; i < 5; i++) operations.push(await newOperation());
    await database.db.raw(`update operations set due_at = now() - interval '1 second' * ascii(right(id::text, 1))`);
    const due = await database.db('operations').orderBy('due_at').orderBy('id').select('id');
    await dispatcher.dispatch();
    const jobs = await engine.queues.deletion.getJobs(['waiting'], 0, -1, true);
    expect(jobs.map((job) => job.data.operationId)).to.deep.equal(due.map((row) => row.id));
  });

  it('a record that is due later stays until then', async () => {
    const operation = await newOperation();
    await dispatcher.dispatch();
    expect(await makeDue(database.db, OPERATIONS, operation, 60_000)).to.equal(true);
    await dispatcher.dispatch();
    expect(await engine.isPending('deletion', operation.id, 2)).to.equal(false);
    const [row] = await database.db('operations').where({ id: operation.id });
    expect(row.dispatches).to.equal(2);
    expect(row.due_at).to.not.equal(null);
  });

  it('a record whose job is lost gets one new job, however many look for it', async () => {
    const operation = await newOperation('restart');
    await dispatcher.dispatch();
    await database.db.raw(`update operations set updated_at = now() - interval '1 minute'`);
    expect(await dispatcher.reconcile(), 'its job waits').to.deep.equal([]);
    await engine.queues['runtime-action'].obliterate({ force: true });
    const others = Array.from({ length: 4 }, () => new Dispatcher(database.db, engine, log));
    const mended = (await Promise.all(others.map((other) => other.reconcile()))).flat();
    expect(mended).to.have.length(1);
    expect(await engine.isPending('runtime-action', operation.id, 2)).to.equal(true);
    expect(await engine.queues['runtime-action'].getJobCountByTypes('waiting')).to.equal(1);
  });

  it('a record that a worker holds is left alone while the lease lasts, and dispatched again after it', async () => {
    const operation = await newOperation('restart');
    await dispatcher.dispatch();
    await engine.queues['runtime-action'].obliterate({ force: true });
    await claim(database.db, OPERATIONS, operation.id, await makeWorker(database.db, 1));
    await database.db.raw(`update operations set updated_at = now() - interval '1 minute'`);
    expect(await dispatcher.reconcile()).to.deep.equal([]);
    await database.db.raw(`update operations set lease_expires_at = now() - interval '1 second'`);
    expect(await dispatcher.reconcile()).to.have.length(1);
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
