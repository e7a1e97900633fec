import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { OperationKind } from '../../../../shared/operations/model.js';
import { acknowledgeRoutes } from '../../../../shared/routing/store.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { deployJob } from '../../../../workers/deploy/deploy-job.js';
import { JobFailed } from '../../../../workers/failures/interruption-errors.js';
import { routingJob } from '../../../../workers/operations/routing-job.js';
import { runtimeActionJob } from '../../../../workers/operations/runtime-action-job.js';
import type { RuntimeDriver } from '../../../../workers/runtime/runtime-driver.js';
import type { JobDeps } from '../../../../workers/worker-deps.js';
import { makeOperation, makeService } from '../../../support/factories.js';
import { eventually } from '../../../support/processes.js';
import { updateRow } from '../../../support/records.js';
import { jobHelpers, type TestWorkshop, useTestWorkshop } from '../../../support/workshop.js';

describe('Jobs that change what runs', () => {
  let workshop: TestWorkshop;
  let worker: JobDeps;

  useTestWorkshop((opened) => ({ workshop, worker } = opened));

  async function deploy(service: ServiceRow): Promise<string> {
    const { id } = await workshop.deployment({}, service);
    expect(await deployJob(worker, { deploymentId: id }, jobHelpers())).to.equal('live');
    return id;
  }

  async function live(): Promise<{ service: ServiceRow; deploymentId: string }> {
    const service = await makeService(workshop.database.db);
    return { service, deploymentId: await deploy(service) };
  }

  /** Runs an operation of the service, and returns its row. */
  async function operate(service: ServiceRow, kind: OperationKind, job = runtimeActionJob) {
    const { id } = await makeOperation(workshop.database.db, service, kind);
    await job(worker, { operationId: id }, jobHelpers()).catch((error: unknown) => {
      if (!(error instanceof JobFailed)) throw error;
    });
    return workshop.database.db('operations').where({ id }).first();
  }

  const configure = (service: ServiceRow, replicas: number) =>
    updateRow(workshop.database.db, 'services', service.id, { configuration: { ...service.configuration, replicas } });

  const running = async (deploymentId: string) => (await workshop.runtime.inspect(deploymentId)).map(({ id }) => id);

  it('a deployment stops the release that it replaces, once every edge serves the new one', async () => {
    const { db } = workshop.database;
    const { service, deploymentId: first } = await live();
    const edge = randomUUID();
    await db.raw(`insert into edges (id, host, pid, seen_at) values (?, 'test', 1, now() + interval '1 minute')`, [
      edge,
    ]);
    const second = deploy(service);
    await eventually('it is live', async () => (await workshop.service(service.id)).live_deployment_id !== first);
    expect(await running(first)).to.have.length(1);
    const { route_version: version } = await workshop.service(service.id);
    await acknowledgeRoutes(db, edge, [{ serviceId: service.id, version }]);
    expect(await running(await second)).to.have.length(1);
    expect(await running(first)).to.deep.equal([]);
    await db.raw('delete from edges where id = ?', [edge]);
  });

  it('suspend stops every replica, and resume starts the release again', async () => {
    const { service, deploymentId } = await live();
    expect(await operate(service, 'suspend')).to.include({ status: 'succeeded' });
    expect(await running(deploymentId)).to.deep.equal([]);
    expect((await workshop.service(service.id)).lifecycle_status).to.equal('suspended');
    expect(await operate(service, 'resume')).to.include({ status: 'succeeded' });
    expect(await running(deploymentId)).to.have.length(1);
    expect((await workshop.service(service.id)).lifecycle_status).to.equal('active');
  });

  it('restart replaces the replicas; a restart that fails keeps them and explains itself', async () => {
    const { service, deploymentId } = await live();
    const before = await running(deploymentId);
    expect(await operate(service, 'restart')).to.include({ status: 'succeeded' });
    const after = await running(deploymentId);
    expect(after).to.have.length(1).and.not.include(before[0]);
    workshop.runtime.script(service.id, { fail: 'exited with code 1' });
    const failed = await operate(service, 'restart');
    expect(failed).to.include({ status: 'failed' });
    expect(failed.error).to.match(/^restart: replica 1 exited with code 1/);
    expect(await running(deploymentId)).to.deep.equal(after);
    expect((await workshop.messages(deploymentId)).at(-1)).to.match(/^The operation failed at restart: /);
  });

  it('a changed number of replicas keeps those that stay', async () => {
    const { service, deploymentId } = await live();
    const [first] = await running(deploymentId);
    await configure(service, 3);
    expect(await operate(service, 'routing', routingJob)).to.include({ status: 'succeeded' });
    expect(await running(deploymentId))
      .to.have.length(3)
      .and.include(first);
  });

  it('an operation that was overtaken by a newer number of replicas does not leave its own', async () => {
    const { service, deploymentId } = await live();
    await configure(service, 3);
    let overtaken = false;
    const scale: RuntimeDriver['scale'] = async (spec, replicas, signal) => {
      if (!overtaken) {
        overtaken = true;
        await configure(service, 1);
        expect(await operate(service, 'routing', routingJob)).to.include({ status: 'succeeded' });
      }
      await workshop.runtime.scale(spec, replicas, signal);
    };
    const slow: RuntimeDriver = Object.create(workshop.runtime, { scale: { value: scale } });
    const slowly: typeof routingJob = (deps, payload, helpers) =>
      routingJob({ ...deps, runtime: slow }, payload, helpers);
    expect(await operate(service, 'routing', slowly)).to.include({ status: 'succeeded' });
    expect(overtaken).to.equal(true);
    expect(await running(deploymentId)).to.have.length(1);
  });

  it('a restart that counted replicas before a newer number does not leave the older one', async () => {
    const { service, deploymentId } = await live();
    await configure(service, 2);
    expect(await operate(service, 'routing', routingJob)).to.include({ status: 'succeeded' });
    const restart: RuntimeDriver['restart'] = async (spec, signal) => {
      await configure(service, 1);
      expect(await operate(service, 'routing', routingJob)).to.include({ status: 'succeeded' });
      await workshop.runtime.restart(spec, signal);
      await workshop.runtime.scale(spec, 2, signal);
    };
    const scale = workshop.runtime.scale.bind(workshop.runtime);
    const slow: RuntimeDriver = Object.create(workshop.runtime, {
      restart: { value: restart },
      scale: { value: scale },
    });
    const slowly: typeof runtimeActionJob = (deps, payload, helpers) =>
      runtimeActionJob({ ...deps, runtime: slow }, payload, helpers);
    expect(await operate(service, 'restart', slowly)).to.include({ status: 'succeeded' });
    expect(await running(deploymentId)).to.have.length(1);
  });

  it('a restart of a suspended service fails', async () => {
    const { service } = await live();
    await operate(service, 'suspend');
    expect(await operate(service, 'restart')).to.include({
      status: 'failed',
      error: 'restart: the service is suspended; resume it first',
    });
  });
});
