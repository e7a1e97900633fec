import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { Knex } from 'knex';
import { DEPLOYMENTS } from '../../../../shared/deployments/kind.js';
import type { ActiveState, DeploymentEvent } from '../../../../shared/deployments/model.js';
import type { DeploymentRow } from '../../../../shared/deployments/rows.js';
import { cancelOpenDeployments } from '../../../../shared/deployments/store.js';
import { type Lease, renewLeases } from '../../../../shared/engine/leases.js';
import { claim, transition } from '../../../../shared/engine/transition.js';
import type { ImageManifest } from '../../../../shared/images/model.js';
import { deploymentParts } from '../../../../workers/releases/deployment-parts.js';
import { makeDeployment, makeService, makeWorker } from '../../../support/factories.js';
import { MANIFEST } from '../../../support/fixtures.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { eventually } from '../../../support/processes.js';
import { applyEvent, claimDeployment, readRow, updateRow } from '../../../support/records.js';

const NEXT: Record<Exclude<ActiveState, 'canary' | 'withdrawn'>, DeploymentEvent> = {
  queued: { type: 'resolved', commitSha: 'c'.repeat(40), commitMessage: 'Change it' },
  building: { type: 'built', image: null },
  releasing: { type: 'routeSwitched' },
  prepared: { type: 'routeSwitched' },
  switched: { type: 'edgesConfirmed' },
};
const FAILED = { type: 'failed', error: 'build: exit code 1' } as const;

describe('The records of deployments', () => {
  const database = useTestDatabase();
  let db: Knex;

  before(() => {
    db = database.db;
  });

  async function held(state: ActiveState = 'queued'): Promise<Lease & { serviceId: string }> {
    const { id, service_id: serviceId } = await makeDeployment(db, await makeService(db));
    const switchedAt = state === 'switched' ? { went_live_at: db.fn.now() } : {};
    await updateRow(db, 'deployments', id, { admitted_at: db.fn.now(), status: state, ...switchedAt });
    const row = await claimDeployment(db, id, await makeWorker(db, 1));
    if (!row) throw new Error('not claimed');
    return { id, fence: row.fence, serviceId };
  }

  const read = (id: string) => readRow<DeploymentRow>(db, 'deployments', { id });

  const cancel = (serviceId: string) => db.transaction((trx) => cancelOpenDeployments(trx, { serviceId }));

  describe('a claim', () => {
    it('raises the fence, and counts a takeover only if the last worker had not given it back', async () => {
      const lease = await held();
      expect(await read(lease.id)).to.include({ fence: 1, takeovers: 0 });
      await claimDeployment(db, lease.id, await makeWorker(db, 1));
      expect(await read(lease.id)).to.include({ fence: 2, takeovers: 1 });
      await transition(db, DEPLOYMENTS, { id: lease.id, fence: 2 }, 'released');
      await claimDeployment(db, lease.id, await makeWorker(db, 1));
      expect(await read(lease.id)).to.include({ fence: 3, takeovers: 1 });
    });

    it('leaves a suspect alone if it is to, and reads what the deployment is run with', async () => {
      const { id, serviceId } = await held();
      const worker = await makeWorker(db, 1);
      const unsuspected = () => claim<DeploymentRow>(db, DEPLOYMENTS, id, worker, { only: 'worker_faults = 0' });
      expect(await unsuspected()).to.include({ id, fence: 2 });
      const parts = await deploymentParts(db, id);
      expect(parts?.service).to.include({ id: serviceId, kind: 'web' });
      expect([parts?.image, parts?.snapshot]).to.deep.equal([null, null]);
      await db('deployments').where({ id }).update({ worker_faults: 1 });
      expect(await unsuspected()).to.equal(null);
      expect((await read(id)).fence).to.equal(2);
    });

    it('counts takeovers and faults of one step: the next begins with none', async () => {
      const { id } = await held();
      const again = await claimDeployment(db, id, await makeWorker(db, 1), true);
      expect(again).to.include({ fence: 2, takeovers: 1, worker_faults: 1 });
      await applyEvent(db, { id, fence: 2 }, 'queued', NEXT.queued);
      expect(await read(id)).to.include({ takeovers: 0, worker_faults: 0 });
    });

    it('takes neither a deployment that was not admitted nor one that has ended', async () => {
      const worker = await makeWorker(db, 1);
      const waiting = await makeDeployment(db, await makeService(db));
      expect(await claimDeployment(db, waiting.id, worker)).to.equal(undefined);
      const lease = await held();
      await applyEvent(db, lease, 'queued', FAILED);
      expect(await claimDeployment(db, lease.id, worker)).to.equal(undefined);
    });
  });

  for (const state of ['queued', 'building', 'releasing', 'switched'] as const) {
    describe(`while ${state}`, () => {
      it('goes on with the right fence, and changes nothing with an older one', async () => {
        const lease = await held(state);
        const before = await read(lease.id);
        const stale = { ...lease, fence: lease.fence - 1 };
        expect(await applyEvent(db, stale, state, NEXT[state])).to.equal(undefined);
        expect(await read(lease.id)).to.deep.equal(before);
        expect((await applyEvent(db, lease, state, NEXT[state]))?.status).to.not.equal(state);
      });

      it('goes on once: the same event in the next state changes nothing', async () => {
        const lease = await held(state);
        await applyEvent(db, lease, state, NEXT[state]);
        const after = await read(lease.id);
        expect(await applyEvent(db, lease, state, NEXT[state])).to.equal(undefined);
        expect(await read(lease.id)).to.deep.equal(after);
      });
    });
  }

  for (const state of ['queued', 'building', 'releasing'] as const) {
    it(`${state}: a requested cancellation holds the next state back, and failing becomes cancelled`, async () => {
      const lease = await held(state);
      expect(await cancel(lease.serviceId)).to.equal(1);
      expect(await applyEvent(db, lease, state, NEXT[state])).to.equal(undefined);
      expect(await read(lease.id)).to.include({ status: state, went_live_at: null });
      expect(await applyEvent(db, lease, state, FAILED)).to.include({ status: 'cancelled', error: '' });
    });

    it(`${state}: a failure keeps its cause, ends the running step and gives the lease back`, async () => {
      const lease = await held(state);
      const row = await applyEvent(db, lease, state, FAILED);
      expect(row).to.include({
        status: 'failed',
        error: 'build: exit code 1',
        worker_id: null,
        lease_expires_at: null,
      });
      expect(row?.finished_at).to.be.instanceOf(Date);
      expect(row?.steps.at(-1)?.finishedAt).to.be.a('string');
    });
  }

  it('a release that visitors see is not cancelled, does not fail, and becomes live', async () => {
    const lease = await held('releasing');
    await applyEvent(db, lease, 'releasing', { type: 'routeSwitched' });
    expect(await cancel(lease.serviceId)).to.equal(0);
    expect((await read(lease.id)).cancel_requested_at).to.equal(null);
    expect(await applyEvent(db, lease, 'switched', FAILED)).to.equal(undefined);
    const row = await applyEvent(db, lease, 'switched', { type: 'edgesConfirmed' });
    expect(row).to.include({ status: 'live', error: '' });
  });

  it('the switch tells how many edges there are, and the end what earlier releases have left', async () => {
    await db('edges').insert([
      { id: randomUUID(), host: 'here', pid: 1 },
      { id: randomUUID(), host: 'here', pid: 2, seen_at: db.raw(`now() - interval '1 minute'`) },
    ]);
    const lease = await held('releasing');
    const service = await db('services').where({ id: lease.serviceId }).first();
    const image = {
      workspace_id: service.workspace_id,
      service_id: service.id,
      digest: 'd',
      manifest: '{}',
      size_bytes: 1,
    };
    await db('images').insert({ id: randomUUID(), ...image });
    const switched = await applyEvent(db, lease, 'releasing', { type: 'routeSwitched' });
    expect(switched).to.include({ edges: 1 });
    const live = await applyEvent(db, lease, 'switched', { type: 'edgesConfirmed' });
    expect(live).to.deep.include({ left_behind: { stale: [], images: 1 } });
  });

  it('the route moves with the deployment, in one commit, to the service that is not being deleted', async () => {
    const lease = await held('releasing');
    const before = await db('services').where({ id: lease.serviceId }).first();
    await applyEvent(db, lease, 'releasing', { type: 'routeSwitched' });
    const after = await db('services').where({ id: lease.serviceId }).first();
    expect(after.live_deployment_id).to.equal(lease.id);
    expect((await read(lease.id)).went_live_at, 'visitors see it from now on').to.be.instanceOf(Date);
    expect(Number(after.route_version)).to.be.greaterThan(Number(before.route_version));

    const doomed = await held('releasing');
    await db('services').where({ id: doomed.serviceId }).update({ lifecycle_status: 'deleting' });
    expect(await applyEvent(db, doomed, 'releasing', { type: 'routeSwitched' })).to.equal(undefined);
    expect(await read(doomed.id)).to.include({ status: 'releasing', went_live_at: null });
  });

  for (const first of ['cancellation', 'deletion'] as const) {
    it(`the route does not move if a ${first} commits while it waits for the service`, async () => {
      const lease = await held('releasing');
      const trx = await db.transaction();
      await trx('services').where({ id: lease.serviceId }).forUpdate().first();
      const moving = applyEvent(db, lease, 'releasing', { type: 'routeSwitched' });
      await eventually('it waits for the lock', async () => {
        const { rows } = await db.raw(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        );
        return rows.length > 0;
      });
      if (first === 'cancellation') await cancelOpenDeployments(trx, { serviceId: lease.serviceId });
      else await trx('services').where({ id: lease.serviceId }).update({ lifecycle_status: 'deleting' });
      await trx.commit();
      expect(await moving).to.equal(undefined);
      expect(await read(lease.id)).to.include({ status: 'releasing', went_live_at: null });
      const service = await db('services').where({ id: lease.serviceId }).first();
      expect(service.live_deployment_id).to.equal(null);
    });
  }

  it('an image that was built is stored with the state that follows it', async () => {
    const lease = await held('building');
    const manifest: ImageManifest = { ...MANIFEST, type: 'static', runtime: 'static' };
    const image = { digest: 'd'.repeat(64), manifest, sizeBytes: 5 };
    const stale = { ...lease, fence: 0 };
    expect(await applyEvent(db, stale, 'building', { type: 'built', image })).to.equal(undefined);
    expect(await db('images').where({ service_id: lease.serviceId })).to.deep.equal([]);
    const row = await applyEvent(db, lease, 'building', { type: 'built', image });
    const [stored] = await db('images').where({ service_id: lease.serviceId });
    expect(row).to.include({ status: 'releasing', image_id: stored.id });
    expect(stored.digest).to.equal(image.digest);
  });

  it('each step ends before the next begins, and the release step spans the switch', async () => {
    const lease = await held('queued');
    for (const state of ['queued', 'building', 'releasing', 'switched'] as const) {
      await applyEvent(db, lease, state, NEXT[state]);
    }
    const { steps, status } = await read(lease.id);
    expect(status).to.equal('live');
    expect(steps.map(({ name }) => name)).to.deep.equal(['queued', 'build', 'release']);
    for (const [index, step] of steps.entries()) {
      expect(step.finishedAt).to.be.a('string');
      const next = steps[index + 1];
      expect(new Date(step.startedAt).toISOString()).to.equal(step.startedAt);
      if (next) expect(next.startedAt >= (step.finishedAt ?? '')).to.equal(true);
    }
  });

  describe('leases', () => {
    it('one statement renews those that are good, and leaves out those that are lost or over', async () => {
      const good = await held();
      const cancelled = await held();
      const lost = await held();
      const over = await held();
      await cancel(cancelled.serviceId);
      await claimDeployment(db, lost.id, await makeWorker(db, 1));
      await applyEvent(db, over, 'queued', FAILED);
      await db('deployments')
        .update({ lease_expires_at: new Date(0) })
        .whereNull('finished_at');
      const renewed = await renewLeases(db, DEPLOYMENTS, [good, cancelled, lost, over]);
      expect([...renewed.keys()]).to.have.members([good.id, cancelled.id]);
      expect(renewed.get(good.id)?.cancelRequested).to.equal(false);
      expect(renewed.get(cancelled.id)?.cancelRequested).to.equal(true);
      expect((await read(good.id)).lease_expires_at?.getTime()).to.be.greaterThan(Date.now());
      expect((await read(lost.id)).lease_expires_at?.getTime()).to.equal(0);
    });

    it('what a worker that was replaced gives back stays with its successor', async () => {
      const first = await held();
      const successor = await makeWorker(db, 1);
      await claimDeployment(db, first.id, successor);
      await transition(db, DEPLOYMENTS, first, 'released');
      expect((await read(first.id)).worker_id).to.equal(successor);
    });
  });

  it('every end is recorded once for the notifications, and nothing before it', async () => {
    const recorded = async (id: string) => (await db('notifications').where({ deployment_id: id })).length;
    const failed = await held('building');
    expect(await recorded(failed.id)).to.equal(0);
    await applyEvent(db, failed, 'building', FAILED);
    expect(await recorded(failed.id)).to.equal(1);
    const live = await held('switched');
    await applyEvent(db, live, 'switched', { type: 'edgesConfirmed' });
    expect(await recorded(live.id)).to.equal(1);
    const waiting = await makeDeployment(db, await makeService(db));
    await cancel(waiting.service_id);
    expect(await recorded(waiting.id)).to.equal(1);
  });

  it('cancelling ends at once what no worker has ever held, and only asks where one does', async () => {
    const waiting = await makeDeployment(db, await makeService(db));
    expect(await cancel(waiting.service_id)).to.equal(1);
    expect((await read(waiting.id)).status).to.equal('cancelled');
    const running = await held('building');
    expect(await cancel(running.serviceId)).to.equal(1);
    const row = await read(running.id);
    expect(row.status).to.equal('building');
    expect(row.cancel_requested_at).to.be.instanceOf(Date);
    expect(row.finished_at).to.equal(null);
  });
});
