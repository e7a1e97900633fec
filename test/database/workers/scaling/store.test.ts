import { expect } from 'chai';
import type { Db } from '../../../../shared/core/database/database-client.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import type { ReplicaRow } from '../../../../workers/replicas/rows.js';
import { recordSamples } from '../../../../workers/runtime/usage-store.js';
import { NO_MEMORY, type ScalingMemory } from '../../../../workers/scaling/model.js';
import {
  lockObserved,
  type ObservedService,
  observeServices,
  rememberAll,
  storeDecision,
} from '../../../../workers/scaling/store.js';
import { makeReplica, makeRun, makeService } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { newDeployment, pretendLive } from '../../../support/records.js';

const MEMORY: ScalingMemory = { wishes: [{ at: 1, replicas: 2 }], changes: [] };

describe('What automatic scaling observes', () => {
  const database = useTestDatabase();
  let db: Db;
  let service: ServiceRow;
  let deploymentId: string;
  beforeEach(async () => {
    db = database.db;
    await db.raw('truncate workspaces, service_scaling cascade');
    service = await makeService(db, undefined, { scaling: 'auto', maxReplicas: 5 });
    deploymentId = await pretendLive(db, service.id);
  });

  async function replica(changes: Partial<ReplicaRow> = {}): Promise<string> {
    const count = await db('replicas').count('id as count').first();
    const row = {
      position: Number(count?.count) + 1,
      state: 'ready',
      ready_at: new Date(Date.now() - 60_000),
    } as const;
    return makeReplica(db, service.id, deploymentId, { ...row, ...changes });
  }
  const sample = (replicaId: string, attempt = 0) =>
    recordSamples(db, [{ serviceId: service.id, replicaId, attempt, cpu: 50, memory: 10 }]);
  const observe = async () => (await observeServices(db, { readySeconds: 30, freshSeconds: 60 }))[0];
  const change = (fields: object) => db('services').where({ id: service.id }).update(fields);
  const observed = async (): Promise<ObservedService> => {
    const found = await observe();
    if (!found) throw new Error('the service is not observed');
    return found;
  };
  const decide = (version: number, memory = MEMORY) =>
    db.transaction((trx) => storeDecision(trx, { id: service.id, version }, { replicas: 3, memory }));

  it('is the usage of the current attempt, fresh, of replicas that have been ready for long enough', async () => {
    await sample(await replica());
    await sample(await replica({ restarts: 1 }), 0);
    await sample(await replica({ ready_at: new Date(Date.now() - 10_000) }));
    await sample(await replica({ state: 'unhealthy' }));
    const old = await replica();
    await sample(old);
    await db('replica_samples')
      .where({ replica_id: old })
      .update({ sampled_at: db.raw(`now() - interval '2 minutes'`) });
    expect(await observed()).to.deep.include({ replicas: 5, measured: [{ cpu: 50, memory: 10 }] });
  });

  it('counts the replicas that the live release is to have', async () => {
    await replica();
    await replica({ desired: 'stopped' });
    await replica({ state: 'stopped' });
    await replica({ replaces: await replica() });
    await replica({ deployment_id: await newDeployment(db, service.id, { status: 'failed' }) });
    const { id: runId } = await makeRun(db, service, deploymentId);
    await replica({ run_id: runId, run_attempt: 1 });
    expect(await observed()).to.include({ replicas: 2 });
  });

  it('is a service that scales by itself, is active and has replicas', async () => {
    expect(await observe(), 'no replica').to.equal(undefined);
    await replica();
    expect(await observed()).to.include({ id: service.id, busy: false, version: 0 });
    const { configuration } = service;
    const others: object[] = [
      { configuration: { ...configuration, scaling: 'manual' } },
      { lifecycle_status: 'suspended' },
      { deleted_at: new Date() },
      { kind: 'cron' },
    ];
    for (const fields of others) {
      await change({ configuration, lifecycle_status: 'active', deleted_at: null, kind: 'web', ...fields });
      expect(await observe(), Object.keys(fields).join()).to.equal(undefined);
    }
  });

  it('says that a deployment is under way', async () => {
    await replica();
    const id = await newDeployment(db, service.id);
    expect(await observed()).to.include({ busy: true });
    await db('deployments').where({ id }).update({ status: 'failed', finished_at: new Date() });
    expect(await observed()).to.include({ busy: false });
  });

  it('is decided once for each version of its memory', async () => {
    await replica();
    const { version } = await observed();
    expect(await decide(version)).to.equal(true);
    expect(await decide(version)).to.equal(false);
    expect(await observed()).to.deep.include({ version: 1, memory: MEMORY, scaledReplicas: 3 });
    expect(await decide(1, NO_MEMORY)).to.equal(true);
  });

  it('is remembered unless somebody decided meanwhile', async () => {
    await replica();
    await decide(0);
    await decide(1);
    await rememberAll(db, [{ id: service.id, version: 1, memory: NO_MEMORY, replicas: 1 }]);
    expect(await observed()).to.deep.include({ version: 2, memory: MEMORY, scaledReplicas: 3 });
    await rememberAll(db, [{ id: service.id, version: 2, memory: NO_MEMORY, replicas: 1 }]);
    expect(await observed()).to.deep.include({ version: 3, memory: NO_MEMORY, scaledReplicas: 1 });
  });

  it('is locked only as long as it is as it was observed', async () => {
    await replica();
    const seen = await observed();
    const lock = () => db.transaction((trx) => lockObserved(trx, seen));
    expect(await lock()).to.include({ id: service.id });
    await change({ configuration: { ...service.configuration, scaling: 'manual' } });
    expect(await lock(), 'the owner scales it').to.equal(undefined);
    await change({ configuration: service.configuration });
    await pretendLive(db, service.id);
    expect(await lock(), 'another release').to.equal(undefined);
  });
});
