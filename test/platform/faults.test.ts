import { expect } from 'chai';
import { nodeServer } from '../support/apps.js';
import { visit } from '../support/client.js';
import { ended, queueDeploy, type Service } from '../support/deployments.js';
import { Gate, PASS, reachOf } from '../support/gate.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually, type PlatformProcess } from '../support/processes.js';
import type { Files } from '../support/repositories.js';

describe('When a worker dies', function () {
  this.timeout(240_000);
  let platform: Platform;
  const gate = new Gate();
  // Opens the gate before the platform stops, because builds may wait there.
  after(() => gate.open());
  usePlatform(
    async () => ({ engine: 'postgres', workers: 2, env: reachOf(await gate.start()) }),
    (started) => {
      platform = started;
    },
  );
  after(() => gate.close());
  beforeEach(async function () {
    this.timeout(240_000);
    gate.shut();
    while (platform.workers.length < 2) await platform.startWorker();
  });

  async function serviceOf(name: string, files: Files): Promise<Service> {
    return (await platform.serviceOf(name, { ...files, ...PASS }, { buildCommand: `node pass.js ${name}` })).service;
  }

  async function holder(deploymentId: string): Promise<PlatformProcess> {
    const row = await platform.database
      .db('deployments as d')
      .join('workers as w', 'w.id', 'd.worker_id')
      .where('d.id', deploymentId)
      .first('w.pid');
    const found = platform.workers.find((worker) => worker.child.pid === row?.pid);
    if (!found) throw new Error('no worker holds the deployment');
    return found;
  }

  async function building(service: Service): Promise<string> {
    const { id } = await queueDeploy(platform.client, service.id);
    await eventually('the build runs', () => gate.visits.has(service.name));
    return id;
  }

  it('killed in mid-build: another one goes on, and it goes live', async () => {
    const service = await serviceOf('killed', nodeServer('survived'));
    const id = await building(service);
    await (await holder(id)).stop('SIGKILL');
    gate.open();
    const deployment = await ended(platform.client, service.id, id);
    expect(deployment).to.include({ status: 'live', error: '' });
    expect((await visit(service.url, platform.edgePort)).body).to.equal('survived');
    expect(gate.visits.get('killed'), 'builds').to.equal(2);
  });

  it('TERM in mid-build hands the deployment over; none fails', async () => {
    const service = await serviceOf('ended', nodeServer('handed over'));
    const id = await building(service);
    const worker = await holder(id);
    await worker.stop('SIGTERM');
    expect(worker.child.exitCode).to.equal(0);
    gate.open();
    const deployment = await ended(platform.client, service.id, id);
    expect(deployment).to.include({ status: 'live', error: '' });
  });

  it('stopped for longer than its lock, it wakes up and changes nothing', async () => {
    const service = await serviceOf('stopped', nodeServer('once'));
    const id = await building(service);
    const worker = await holder(id);
    worker.kill('SIGSTOP');
    await eventually('another worker has taken over', async () => {
      const row = await platform.database.db('deployments').where({ id }).first('fence');
      return row.fence > 1;
    });
    // Both workers' builds go on, and the build of the stopped worker ends first.
    gate.open();
    worker.kill('SIGCONT');
    const deployment = await ended(platform.client, service.id, id);
    expect(deployment.status).to.equal('live');
    const replicas = await platform.database
      .db('replicas')
      .where({ service_id: service.id })
      .whereNot({ state: 'stopped' });
    expect(replicas).to.have.length(1);
  });

  it('the reconciler makes lost jobs again from the tables', async () => {
    const service = await serviceOf('lost', nodeServer('found again'));
    gate.open();
    // Stopped workers take no job, so the deployment's job is in the queue until it is deleted.
    for (const worker of platform.workers) worker.kill('SIGSTOP');
    const queued = await queueDeploy(platform.client, service.id);
    const { db } = platform.database;
    await eventually('its job is in the queue', () => db('bullmq.job').where({ queue: 'deploy' }).first());
    await db.raw('truncate bullmq.job cascade');
    for (const worker of platform.workers) worker.kill('SIGCONT');
    expect((await ended(platform.client, service.id, queued.id)).status).to.equal('live');
  });
});
