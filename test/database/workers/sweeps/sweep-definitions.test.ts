import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { dropExpiredLogs } from '../../../../shared/logs/log-retention.js';
import { deployJob } from '../../../../workers/deploy/deploy-job.js';
import { sweepDefinitions } from '../../../../workers/sweeps/sweep-definitions.js';
import type { JobDeps } from '../../../../workers/worker-deps.js';
import { makeReplica, makeService, makeUser, makeWorker } from '../../../support/factories.js';
import { pretendLive } from '../../../support/records.js';
import { jobHelpers, type TestWorkshop, useTestWorkshop } from '../../../support/workshop.js';

describe('The sweep of', () => {
  let workshop: TestWorkshop;
  let worker: JobDeps;
  useTestWorkshop((opened) => ({ workshop, worker } = opened));

  async function sweep(name: string, deps = worker): Promise<string[]> {
    const definition = sweepDefinitions(deps, { removeOldJobs: async () => 0 }).find((each) => each.name === name);
    if (!definition) throw new Error(`there is no sweep ${name}`);
    return definition.sweep();
  }

  it('retention deletes expired lines, replicas, receipts and sessions, and silent workers', async () => {
    const { db } = workshop.database;
    const old = db.raw(`now() - interval '400 days'`);
    const service = await makeService(db);
    const deploymentId = await pretendLive(db, service.id);
    const { id: userId } = await makeUser(db, { email: 'user@example.com' });
    await dropExpiredLogs(db);
    await db('log_lines').insert({
      service_id: service.id,
      id: 1,
      source: 'runtime',
      level: 'info',
      message: 'x',
      logged_at: old,
      expires_on: old,
    });
    await makeReplica(db, service.id, deploymentId, { state: 'stopped', desired: 'stopped', stopped_at: old as never });
    await db('receipts').insert({ scope: 's', key: 'k', payload_hash: 'h', status: 200, body: '', expires_at: old });
    await db('sessions').insert({ id: uuidv7(), user_id: userId, token_hash: Buffer.from('t'), expires_at: old });
    const silent = await makeWorker(db, 1);
    await db('workers').where({ id: silent }).update({ seen_at: old });
    expect(await sweep('retention')).to.deep.equal([
      'removed 1 days of expired log lines',
      'removed 1 stopped replicas',
      'removed 1 receipts',
      'removed 1 sessions',
    ]);
    expect(await db('workers').where({ id: silent })).to.deep.equal([]);
    expect(await sweep('retention')).to.deep.equal([]);
  });

  it('releases stops those that neither serve nor are being deployed, and no other', async () => {
    const service = await makeService(workshop.database.db);
    const deploy = async () => {
      const { id } = await workshop.deployment({}, service);
      expect(await deployJob(worker, { deploymentId: id }, jobHelpers())).to.equal('live');
      return id;
    };
    const running = async (id: string) => (await workshop.runtime.inspect(id)).length;
    const serving = await deploy();
    expect(await sweep('releases')).to.deep.equal([]);
    expect(await running(serving)).to.equal(1);
    const other = await workshop.deployment({ status: 'live', finished_at: new Date() }, service);
    await workshop.database.db('services').where({ id: service.id }).update({ live_deployment_id: other.id });
    expect(await sweep('releases')).to.deep.equal([`stopped release ${serving}`]);
    expect(await running(serving)).to.equal(0);
  });

  it('releases waits for none that ends slowly before it stops the others', async () => {
    const { db } = workshop.database;
    const stale: string[] = [];
    for (let i = 0; i < 3; i++) {
      const service = await makeService(db);
      const { id } = await workshop.deployment({}, service);
      expect(await deployJob(worker, { deploymentId: id }, jobHelpers())).to.equal('live');
      const other = await workshop.deployment({ status: 'live', finished_at: new Date() }, service);
      await db('services').where({ id: service.id }).update({ live_deployment_id: other.id });
      stale.push(id);
    }
    const [slow, broken, last] = stale;
    let stopped: () => void = () => undefined;
    const lastStopped = new Promise<void>((resolve) => {
      stopped = resolve;
    });
    const runtime = Object.create(worker.runtime, {
      stop: {
        value: async (id: string) => {
          if (id === slow) await lastStopped;
          if (id === broken) throw new Error('not stopped in time');
          await worker.runtime.stop(id);
          if (id === last) stopped();
        },
      },
    });
    expect(await sweep('releases', { ...worker, runtime })).to.have.members([
      `stopped release ${slow}`,
      `stopped release ${last}`,
    ]);
  });
});
