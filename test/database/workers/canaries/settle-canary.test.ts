import { expect } from 'chai';
import type { Db } from '../../../../shared/core/database/database-client.js';
import { promoteCanary, readCanary } from '../../../../shared/deployments/canary-store.js';
import type { DeploymentRow } from '../../../../shared/deployments/rows.js';
import { cancelOpenDeployments } from '../../../../shared/deployments/store.js';
import { loadRouteFacts } from '../../../../shared/routing/store.js';
import { saveRules } from '../../../../shared/rules/store.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { settleCanaries } from '../../../../workers/canaries/settle-canary.js';
import { performDeployment } from '../../../../workers/deploy/perform-deployment.js';
import { canaryKey } from '../../../../workers/edge/canary/live-canary.js';
import { recordCanaries } from '../../../../workers/edge/traffic-store.js';
import type { JobDeps } from '../../../../workers/worker-deps.js';
import { makeService } from '../../../support/factories.js';
import { jobHelpers, type TestWorkshop, useTestWorkshop } from '../../../support/workshop.js';

describe('A deployment with a canary', () => {
  let workshop: TestWorkshop;
  let db: Db;
  let worker: JobDeps;
  let other: JobDeps;
  let service: ServiceRow;
  let previous: DeploymentRow;

  useTestWorkshop(async (opened) => {
    ({ workshop, db, worker } = opened);
    other = await workshop.worker();
  });

  beforeEach(async () => {
    service = await makeService(db);
    previous = await workshop.deployment({}, service);
    expect(await run(previous)).to.equal('live');
    await db.transaction((trx) => saveRules(trx, service.id, [{ type: 'canary', percent: 10, minutes: 5 }]));
  });

  const run = ({ id }: { id: string }, deps = worker) =>
    performDeployment(deps, id, jobHelpers()).then(
      ({ status }) => status,
      (error: Error) => error.message,
    );
  const begun = async () => {
    const deployment = await workshop.deployment({}, service);
    expect(await run(deployment)).to.equal('some visitors get the release');
    return deployment;
  };
  const live = async () => (await workshop.service(service.id)).live_deployment_id;
  const facts = async () => (await loadRouteFacts(db, [service.id]))[0];
  const visits = (id: string, side: 'new' | 'previous', requests: number, errors: number) =>
    recordCanaries(db, [
      {
        serviceId: canaryKey(id, side),
        classes: [requests - errors, 0, 0, errors],
        bytesOut: 0,
        latency: new Array(24).fill(0).map((_, index) => (index === 0 ? requests : 0)),
      },
    ]);

  it('waits without a lease while some visitors get its release', async () => {
    const deployment = await begun();
    const row = await workshop.read(deployment.id);
    expect(row).to.include({ status: 'canary', worker_id: null, went_live_at: null });
    expect(row.steps.map(({ name }) => name)).to.deep.equal(['queued', 'build', 'release', 'canary']);
    expect(await live()).to.equal(previous.id);
    // Replicas of the test have no port, which the routes need.
    for (const [index, { id }] of [previous, deployment].entries()) {
      await db('replicas')
        .where({ deployment_id: id })
        .update({ address: '127.0.0.1', port: 20_000 + index });
    }
    const route = await facts();
    expect(route?.canary).to.deep.include({ deploymentId: deployment.id, percent: 10 });
    expect(route?.canary?.replicas).to.have.length(1);
    expect(route?.replicas).to.have.length(1);
    expect((await workshop.messages(deployment.id)).at(-1)).to.match(/10 % of visitors get it for 5 minutes$/);
  });

  it('goes back by itself if its release is worse, and ends as failed with the figures', async () => {
    const deployment = await begun();
    await visits(deployment.id, 'new', 200, 20);
    await visits(deployment.id, 'new', 100, 16);
    await visits(deployment.id, 'previous', 2_000, 2);
    const { version } = (await facts()) ?? { version: 0 };
    // Visitors go back to the old release before a worker has a slot for the deployment.
    await settleCanaries(worker);
    const route = await facts();
    expect(route?.canary).to.equal(null);
    expect(route?.version).to.be.above(version);
    expect(await workshop.read(deployment.id)).to.include({ status: 'withdrawn', finished_at: null });

    const error = 'canary: 12 % of 300 requests failed, 0.1 % of 2000 before';
    expect(await run(deployment, other)).to.equal(error);
    expect(await workshop.read(deployment.id)).to.include({ status: 'failed', error, went_live_at: null });
    expect(await live()).to.equal(previous.id);
    expect(workshop.runtime.calls.at(-1)).to.equal(`stop ${deployment.id}`);
    expect(await db('notifications').where({ deployment_id: deployment.id })).to.have.length(1);
  });

  it('is promoted at its end if its release is not worse', async () => {
    const deployment = await begun();
    await visits(deployment.id, 'new', 300, 0);
    await settleCanaries(worker);
    expect(await live()).to.equal(previous.id);
    await db('canaries').where({ deployment_id: deployment.id }).update({ ends_at: db.fn.now() });
    await settleCanaries(worker);
    expect(await live()).to.equal(deployment.id);
    expect((await facts())?.canary).to.equal(null);
    expect(await run(deployment, other)).to.equal('live');
    expect((await workshop.messages(deployment.id)).at(-1)).to.match(
      /all visitors get the release: 0 % of 300 requests/,
    );
    expect(await readCanary(db, deployment.id)).to.include({ promoted: true });
  });

  it('settles once, if several workers settle at the same time', async () => {
    const deployment = await begun();
    await visits(deployment.id, 'new', 30, 30);
    await Promise.all([worker, other, worker, other].map((deps) => settleCanaries(deps)));
    const { fence, dispatches } = await workshop.read(deployment.id);
    expect(fence).to.equal(2);
    expect(dispatches).to.be.at.most(2);
  });

  it('is carried on by another worker if its worker was killed', async () => {
    const deployment = await begun();
    // A killed worker held the deployment and had not judged it.
    await db('deployments').where({ id: deployment.id }).update({ worker_id: worker.workerId, due_at: null });
    await visits(deployment.id, 'new', 30, 30);
    expect(await run(deployment, other)).to.equal('some visitors get the release');
    expect(await run(deployment, other)).to.match(/^canary: 100 % of 30 requests failed/);
  });

  it('sends all visitors back if it is cancelled, and is due at once', async () => {
    const deployment = await begun();
    await db.transaction((trx) => cancelOpenDeployments(trx, { serviceId: service.id }));
    const { due_at: due } = await workshop.read(deployment.id);
    expect(due?.getTime()).to.be.at.most(Date.now());
    expect(await run(deployment, other)).to.equal('cancelled');
    expect(await workshop.read(deployment.id)).to.include({ status: 'cancelled', error: '' });
    expect((await facts())?.canary).to.equal(null);
    expect(await live()).to.equal(previous.id);
  });

  it('cannot be promoted after it was cancelled or withdrawn, nor before it began', async () => {
    const promote = (id: string) => db.transaction((trx) => promoteCanary(trx, id, 'by hand'));
    const deployment = await begun();
    await visits(deployment.id, 'new', 30, 30);
    await settleCanaries(worker);
    expect(await promote(deployment.id)).to.equal(false);
    await run(deployment);
    const releasing = await workshop.deployment({ status: 'releasing', fence: 1 }, service);
    expect(await promote(releasing.id)).to.equal(false);
    expect(await live()).to.equal(previous.id);
  });

  it('has no canary if it is a rollback, the first release, or one with nothing ready before it', async () => {
    const first = await makeService(db);
    await db.transaction((trx) => saveRules(trx, first.id, [{ type: 'canary', percent: 10, minutes: 5 }]));
    const alone = await workshop.deployment({}, first);
    expect(await run(alone)).to.equal('live');
    expect((await workshop.messages(alone.id)).at(-1)).to.match(/without a canary: it is the first release$/);
    const { image_id } = await workshop.read(previous.id);
    const back = await workshop.deployment(
      { trigger: 'rollback', image_id, source_deployment_id: previous.id },
      service,
    );
    expect(await run(back)).to.equal('live');
    await db('replicas').where({ deployment_id: back.id }).update({ state: 'unhealthy' });
    const next = await workshop.deployment({}, service);
    expect(await run(next)).to.equal('live');
    expect((await workshop.messages(next.id)).at(-1)).to.match(/no replica of the previous release is ready$/);
  });
});
