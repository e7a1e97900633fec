import { expect } from 'chai';
import { createLogger } from '../../../../shared/core/log.js';
import type { PartialServiceConfiguration } from '../../../../shared/services/configuration.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { wantedReplicas } from '../../../../shared/services/wanted-replicas.js';
import type { WorkspaceConfiguration } from '../../../../shared/workspaces/model.js';
import { pricedServices } from '../../../../shared/workspaces/plan-usage.js';
import { LogSink } from '../../../../workers/logs/log-sink.js';
import { recordSamples } from '../../../../workers/runtime/usage-store.js';
import { scaleServices } from '../../../../workers/scaling/scale-services.js';
import { makeReplica, makeService, makeWorkspace } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { newDeployment, pretendLive, readRow } from '../../../support/records.js';

describe('Automatic scaling of services', () => {
  const database = useTestDatabase();
  let service: ServiceRow;
  let replicas: string[];

  beforeEach(() => database.db('services').update({ deleted_at: new Date() }));

  async function running(
    count: number,
    configuration: PartialServiceConfiguration = {},
    workspace: Partial<WorkspaceConfiguration> = {},
  ): Promise<void> {
    const settings = { scaling: 'auto', maxReplicas: 5, plan: 'starter', ...configuration } as const;
    service = await makeService(database.db, await makeWorkspace(database.db, workspace), settings);
    const deploymentId = await pretendLive(database.db, service.id);
    replicas = [];
    for (let position = 1; position <= count; position++) {
      const ready_at = new Date(Date.now() - 60_000);
      replicas.push(await makeReplica(database.db, service.id, deploymentId, { position, state: 'ready', ready_at }));
    }
  }

  async function uses(cpu: number): Promise<void> {
    const sample = { serviceId: service.id, attempt: 0, cpu, memory: 10 };
    await recordSamples(
      database.db,
      replicas.map((replicaId) => ({ ...sample, replicaId })),
    );
  }

  const dispatcher = { wake: () => undefined, wakeLogs: () => undefined };
  const sweep = (quiet = 300) =>
    scaleServices({
      db: database.db,
      config: { metricsSeconds: 15, scalingReadySeconds: 30, scalingQuietSeconds: quiet },
      logs: new LogSink(database.db, dispatcher),
      dispatcher,
      log: createLogger('test', 'silent'),
    } as unknown as Parameters<typeof scaleServices>[0]);

  async function wanted(): Promise<number> {
    return wantedReplicas(await readRow<ServiceRow>(database.db, 'services', { id: service.id }));
  }
  const operations = () => database.db('operations').where({ service_id: service.id });
  const lines = async (): Promise<string[]> =>
    (await database.db('log_lines').where({ service_id: service.id }).orderBy('id')).map(({ message }) => message);
  const endOperations = () =>
    database
      .db('operations')
      .where({ service_id: service.id })
      .update({ status: 'succeeded', finished_at: new Date() });

  it('stores the decision with the operation that applies it and its figures in the log, once for many leaders', async () => {
    await running(1);
    await uses(98);
    await Promise.all([sweep(), sweep(), sweep()]);
    expect(await wanted()).to.equal(2);
    expect(await operations()).to.have.length(1);
    expect(await lines()).to.deep.equal([
      'Scales from 1 to 2 replicas: processor 98 % of the plan (target 70 %), memory 10 % (target 80 %), averaged over 1 of 1 replicas; wanted are 2, between 1 and 5',
    ]);
    expect((await pricedServices(database.db, service.workspace_id)).map((priced) => priced.replicas)).to.deep.equal([
      2,
    ]);
  });

  it('waits while a deployment or an operation is under way', async () => {
    await running(1);
    await uses(98);
    const id = await newDeployment(database.db, service.id, { status: 'building' });
    await sweep();
    expect(await operations()).to.deep.equal([]);
    await database.db('deployments').where({ id }).update({ status: 'failed', finished_at: new Date() });
    await sweep();
    expect(await operations()).to.have.length(1);
    await sweep();
    expect(await operations()).to.have.length(1);
  });

  it('wants no more what could not be started', async () => {
    await running(1);
    await uses(98);
    await sweep();
    await endOperations();
    await uses(50);
    await sweep();
    expect(await wanted()).to.equal(1);
  });

  it('never passes the budget, and says so', async () => {
    await running(1, { targetCpu: 10 }, { budget: 20, currency: 'USD' });
    await uses(98);
    await sweep();
    expect(await wanted()).to.equal(2);
    expect((await lines())[0]).to.match(
      /^Scales from 1 to 2 .*; wanted are 5, .*; the budget of the workspace allows 2$/,
    );
    await endOperations();
    await database.db('services').where({ id: service.id }).update({ deleted_at: new Date() });

    await running(1, { targetCpu: 10 }, { budget: 8, currency: 'USD' });
    await uses(98);
    await sweep();
    await sweep();
    expect(await wanted()).to.equal(1);
    expect(await operations()).to.deep.equal([]);
    expect(await lines()).to.have.length(1);
    expect((await lines())[0]).to.match(
      /^The budget of the workspace allows no more replicas\. Otherwise: Scales from 1 to 5/,
    );
  });

  it('takes one replica away when it has been quiet', async () => {
    await running(3);
    await uses(1);
    await sweep(0);
    await sweep(0);
    expect(await wanted()).to.equal(3);
    await sweep(0);
    expect(await wanted()).to.equal(2);
    expect((await lines())[0]).to.match(/^Scales from 3 to 2 replicas/);
  });

  it('leaves services alone whose owner scales them', async () => {
    await running(1, { scaling: 'manual', replicas: 4 });
    await uses(98);
    await sweep();
    expect(await operations()).to.deep.equal([]);
    expect(await wanted()).to.equal(4);
  });
});
