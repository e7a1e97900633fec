import { expect } from 'chai';
import type { DeploymentRow } from '../../../../shared/deployments/rows.js';
import { cancelOpenDeployments } from '../../../../shared/deployments/store.js';
import { performDeployment } from '../../../../workers/deploy/perform-deployment.js';
import type { JobHelpers } from '../../../../workers/engine/job-helpers.js';
import { BuildError, SourceError } from '../../../../workers/failures/explained-errors.js';
import { Interrupted, JobFailed } from '../../../../workers/failures/interruption-errors.js';
import type { JobDeps } from '../../../../workers/worker-deps.js';
import { makeService } from '../../../support/factories.js';
import { MANIFEST } from '../../../support/fixtures.js';
import { failureOf } from '../../../support/outcomes.js';
import { claimDeployment, insertImage, updateRow } from '../../../support/records.js';
import {
  COMMIT,
  jobHelpers,
  SECRET,
  type TestWorkshop,
  untilAborted,
  useTestWorkshop,
} from '../../../support/workshop.js';

describe('The work on deployments', () => {
  let workshop: TestWorkshop;
  let worker: JobDeps;
  let deaf: JobDeps;

  useTestWorkshop(async (opened) => {
    ({ workshop, worker } = opened);
    deaf = await workshop.deafWorker();
  });

  function run({ id }: { id: string }, helpers: Partial<JobHelpers> = {}, deps = worker): Promise<string | undefined> {
    return performDeployment(deps, id, jobHelpers(helpers)).then(({ ran, status }) => (ran ? status : undefined));
  }

  async function expectFailed(deployment: DeploymentRow, error: string): Promise<void> {
    const row = await workshop.read(deployment.id);
    expect(row).to.include({ status: 'failed', error, worker_id: null });
    expect(row.finished_at).to.be.instanceOf(Date);
    expect((await workshop.service(row.service_id)).live_deployment_id).to.equal(null);
    expect(await workshop.runtime.inspect(row.id)).to.deep.equal([]);
  }

  async function expectCancelled({ id }: DeploymentRow): Promise<void> {
    const row = await workshop.read(id);
    expect(row).to.include({ status: 'cancelled', error: '', worker_id: null });
    expect((await workshop.service(row.service_id)).live_deployment_id).to.equal(null);
    expect(await workshop.runtime.inspect(id)).to.deep.equal([]);
    expect(await workshop.messages(id)).to.include('The deployment was cancelled');
  }

  async function imageOf(service: { id: string; workspace_id: string }, here = true): Promise<{ id: string }> {
    const digest = `${service.id}-image`;
    if (here) workshop.images.add(digest);
    const { id: serviceId, workspace_id: workspaceId } = service;
    const image = { workspaceId, serviceId, digest, manifest: MANIFEST, sizeBytes: 1 };
    return insertImage(workshop.database.db, image);
  }

  async function releasing(here = true, changes: Partial<Record<keyof DeploymentRow, unknown>> = {}) {
    const service = await makeService(workshop.database.db);
    const image = await imageOf(service, here);
    return workshop.deployment({ status: 'releasing', image_id: image.id, ...changes }, service);
  }

  const cancel = ({ service_id: serviceId }: DeploymentRow) =>
    workshop.database.db.transaction((trx) => cancelOpenDeployments(trx, { serviceId }));

  /** Requests the cancellation without a notification, so that a worker without lease renewals does not notice it. */
  const cancelSilently = ({ id }: DeploymentRow) =>
    workshop.database.db('deployments').where({ id }).update({ cancel_requested_at: new Date() });

  describe('on the road to live', () => {
    it('resolves, builds, releases, and moves the route; every step has its times and the log its lines', async () => {
      const deployment = await workshop.deployment();
      expect(await run(deployment)).to.equal('live');
      const row = await workshop.read(deployment.id);
      expect(row).to.include({ status: 'live', error: '', commit_sha: COMMIT, worker_id: null });
      expect(row.went_live_at).to.be.instanceOf(Date);
      expect(row.steps.map(({ name }) => name)).to.deep.equal(['queued', 'build', 'release']);
      for (const step of row.steps) expect(step.finishedAt, step.name).to.be.a('string');
      const service = await workshop.service(row.service_id);
      expect(service).to.include({ live_deployment_id: row.id, lifecycle_status: 'active' });
      expect((await workshop.runtime.inspect(row.id)).map(({ state }) => state)).to.deep.equal(['ready']);
      const messages = await workshop.messages(row.id);
      expect(messages[0]).to.match(/^Deploys commit/);
      expect(messages.at(-1)).to.equal('The release is healthy; the route moves to it');
    });

    it('runs the pre-deploy command before the first replica starts', async () => {
      const { db } = workshop.database;
      const service = await makeService(db, undefined, { preDeployCommand: 'npm run migrate' });
      const deployment = await workshop.deployment({}, service);
      expect(await run(deployment)).to.equal('live');
      const calls = workshop.runtime.calls.filter((call) => call.includes(deployment.id));
      expect(calls).to.deep.equal([`command ${deployment.id} npm run migrate`, `release ${deployment.id}`]);
      const record = await db('runs').where({ deployment_id: deployment.id }).first();
      expect(record).to.include({
        trigger: 'deployment',
        command: 'npm run migrate',
        status: 'succeeded',
        exit_code: 0,
      });
      expect((await workshop.read(deployment.id)).steps.at(-1)).to.include({ name: 'release', runId: record.id });
    });

    it('runs the release line of a Procfile, unless the configuration has a pre-deploy command', async () => {
      const { db } = workshop.database;
      workshop.imageParts = { releaseCommand: 'npm run seed' };
      const callsOf = async (configuration: object) => {
        const deployment = await workshop.deployment({}, await makeService(db, undefined, configuration));
        expect(await run(deployment)).to.equal('live');
        const calls = workshop.runtime.calls.filter((call) => call.includes(deployment.id));
        return calls.map((call) => call.replace(` ${deployment.id}`, ''));
      };
      try {
        expect(await callsOf({})).to.deep.equal(['command npm run seed', 'release']);
        expect(await callsOf({ preDeployCommand: 'npm run migrate' })).to.deep.equal([
          'command npm run migrate',
          'release',
        ]);
      } finally {
        workshop.imageParts = {};
      }
    });

    it('does nothing with a deployment that has ended or was not admitted', async () => {
      const ended = await workshop.deployment({ status: 'failed', finished_at: new Date() });
      expect(await run(ended)).to.equal(undefined);
      expect(await run(await workshop.deployment({ admitted_at: null }))).to.equal(undefined);
    });

    it('finishes a deployment whose route has moved without a second release', async () => {
      const deployment = await releasing(true, { status: 'switched', went_live_at: new Date() });
      expect(await run(deployment)).to.equal('live');
      expect(workshop.runtime.calls.filter((call) => call.includes(deployment.id))).to.deep.equal([]);
    });
  });

  describe('when a step fails', () => {
    it('queued: the source is wrong', async () => {
      const deployment = await workshop.deployment();
      workshop.sources.set(deployment.service_id, async () => {
        throw new SourceError('branch main does not exist');
      });
      expect(await failureOf(run(deployment))).to.be.instanceOf(JobFailed);
      await expectFailed(deployment, 'queued: branch main does not exist');
      expect(workshop.buildRequests.map(({ serviceId }) => serviceId)).to.not.include(deployment.service_id);
    });

    it('build: the command fails; its error and the log show no secret', async () => {
      const deployment = await workshop.deployment();
      workshop.builds.set(deployment.service_id, async () => {
        throw new BuildError(`npm ci with ${SECRET}: exit code 1`);
      });
      expect((await failureOf(run(deployment))).message).to.not.include(SECRET);
      const { error } = await workshop.read(deployment.id);
      await expectFailed(deployment, error);
      expect(error)
        .to.match(/^build: npm ci with .*: exit code 1$/)
        .and.not.include(SECRET);
      expect((await workshop.messages(deployment.id)).at(-1)).to.equal(`The deployment failed at ${error}`);
    });

    it('release: a replica ends before it is healthy', async () => {
      const deployment = await workshop.deployment();
      workshop.runtime.script(deployment.service_id, { fail: 'exited with code 1' });
      expect(await failureOf(run(deployment))).to.be.instanceOf(JobFailed);
      await expectFailed(deployment, 'release: replica 1 exited with code 1 before it was healthy');
      expect(workshop.runtime.calls).to.include(`stop ${deployment.id}`);
    });

    it('keeps the release that serves', async () => {
      const service = await makeService(workshop.database.db);
      const first = await workshop.deployment({}, service);
      expect(await run(first)).to.equal('live');
      const second = await workshop.deployment({}, service);
      workshop.runtime.script(service.id, { fail: 'exited with code 1' });
      await failureOf(run(second));
      expect((await workshop.read(second.id)).status).to.equal('failed');
      expect((await workshop.service(service.id)).live_deployment_id).to.equal(first.id);
      expect((await workshop.runtime.inspect(first.id)).map(({ state }) => state)).to.deep.equal(['ready']);
    });
  });

  describe('when its cancellation is requested', () => {
    it('queued: the source is left at once', async () => {
      const deployment = await workshop.deployment();
      workshop.sources.set(
        deployment.service_id,
        untilAborted(() => cancel(deployment)),
      );
      expect(await run(deployment)).to.equal('cancelled');
      await expectCancelled(deployment);
    });

    it('build: the build is left at once', async () => {
      const deployment = await workshop.deployment();
      workshop.builds.set(
        deployment.service_id,
        untilAborted(() => cancel(deployment)),
      );
      expect(await run(deployment)).to.equal('cancelled');
      await expectCancelled(deployment);
      expect(workshop.runtime.calls).to.not.include(`release ${deployment.id}`);
    });

    it('release: the replicas that were starting are stopped', async () => {
      const deployment = await workshop.deployment();
      workshop.runtime.script(deployment.service_id, {
        until: () => cancel(deployment).then(() => new Promise(() => 0)),
      });
      expect(await run(deployment)).to.equal('cancelled');
      await expectCancelled(deployment);
    });

    it('between the step and its event: the event is refused, in every step', async () => {
      const queued = await workshop.deployment();
      workshop.sources.set(queued.service_id, () => cancelSilently(queued));
      expect(await run(queued, {}, deaf)).to.equal('cancelled');
      await expectCancelled(queued);
      expect(workshop.buildRequests.map(({ serviceId }) => serviceId)).to.not.include(queued.service_id);

      const built = await workshop.deployment();
      workshop.builds.set(built.service_id, () => cancelSilently(built));
      expect(await run(built, {}, deaf)).to.equal('cancelled');
      await expectCancelled(built);
      expect(workshop.runtime.calls).to.not.include(`release ${built.id}`);
    });

    it('between a healthy release and the route: the route does not move', async () => {
      const deployment = await workshop.deployment();
      workshop.runtime.script(deployment.service_id, { onReady: () => cancelSilently(deployment) });
      expect(await run(deployment, {}, deaf)).to.equal('cancelled');
      await expectCancelled(deployment);
      expect((await workshop.read(deployment.id)).went_live_at).to.equal(null);
    });

    it('while a step fails: it ends cancelled, not failed', async () => {
      const deployment = await workshop.deployment();
      workshop.builds.set(deployment.service_id, async () => {
        await cancelSilently(deployment);
        throw new BuildError('exit code 1');
      });
      expect(await run(deployment, {}, deaf)).to.equal('cancelled');
      expect(await workshop.read(deployment.id)).to.include({ status: 'cancelled', error: '' });
    });

    it('while no worker holds it: the next one only ends it', async () => {
      const deployment = await releasing(true, { cancel_requested_at: new Date(), fence: 1 });
      expect(await run(deployment)).to.equal('cancelled');
      await expectCancelled(deployment);
      expect(workshop.runtime.calls).to.not.include(`release ${deployment.id}`);
    });

    it('after the route has moved: it goes live', async () => {
      const switched = { status: 'switched', went_live_at: new Date(), cancel_requested_at: new Date() };
      const deployment = await releasing(true, switched);
      expect(await run(deployment)).to.equal('live');
    });
  });

  describe('on a fault of the platform', () => {
    it('hands the deployment back, says so once in its log, and the last try fails it', async () => {
      const deployment = await workshop.deployment();
      workshop.builds.set(deployment.service_id, async () => {
        throw new Error(`no space left on device (${SECRET})`);
      });
      const first = await failureOf(run(deployment));
      expect(first).to.not.be.instanceOf(JobFailed);
      expect(first.message)
        .to.match(/^no space left/)
        .and.not.include(SECRET);
      expect(await workshop.read(deployment.id)).to.include({ status: 'building', worker_id: null, takeovers: 0 });
      await failureOf(run(deployment, { firstAttempt: false }));
      const retried = (await workshop.messages(deployment.id)).filter((line) => line.includes('which is tried again'));
      expect(retried).to.have.length(1);

      const last = await failureOf(run(deployment, { firstAttempt: false, lastAttempt: true }));
      expect(last).to.be.instanceOf(JobFailed);
      const { error } = await workshop.read(deployment.id);
      expect(error)
        .to.match(/^build: internal error: no space left on device/)
        .and.not.include(SECRET);
      await expectFailed(deployment, error);
    });

    it('goes on from the step that was interrupted, when the fault has passed', async () => {
      const deployment = await workshop.deployment();
      let fails = true;
      workshop.builds.set(deployment.service_id, async () => {
        if (fails) throw new Error('no space left on device');
      });
      let resolved = 0;
      workshop.sources.set(deployment.service_id, async () => {
        resolved += 1;
      });
      await failureOf(run(deployment));
      fails = false;
      expect(await run(deployment, { firstAttempt: false })).to.equal('live');
      expect(resolved).to.equal(1);
    });
  });

  describe('with an image', () => {
    it('that another worker has stored already: builds nothing', async () => {
      const service = await makeService(workshop.database.db);
      const image = await imageOf(service);
      const deployment = await workshop.deployment({ status: 'building', image_id: image.id }, service);
      expect(await run(deployment)).to.equal('live');
      expect(workshop.buildRequests.map(({ serviceId }) => serviceId)).to.not.include(service.id);
    });

    it('that is not on this host: builds it here and releases it', async () => {
      const deployment = await releasing(false);
      expect(await run(deployment)).to.equal('live');
      expect(workshop.buildRequests.map(({ serviceId }) => serviceId)).to.include(deployment.service_id);
      expect((await workshop.read(deployment.id)).image_id).to.not.equal(deployment.image_id);
      expect(await workshop.messages(deployment.id)).to.include('The image is not on this host; building it here');
    });

    describe('to roll back to', () => {
      async function rollback(here = true): Promise<DeploymentRow> {
        const service = await makeService(workshop.database.db);
        const source = await workshop.deployment({ status: 'live', finished_at: new Date() }, service);
        const image = await imageOf(service, here);
        return workshop.deployment({ image_id: image.id, source_deployment_id: source.id }, service);
      }

      it('releases it without a build', async () => {
        const deployment = await rollback();
        expect(await run(deployment)).to.equal('live');
        const row = await workshop.read(deployment.id);
        expect(row.steps.map(({ name }) => name)).to.deep.equal(['queued', 'release']);
        expect(row.image_id).to.equal(deployment.image_id);
        expect(workshop.buildRequests.map(({ serviceId }) => serviceId)).to.not.include(deployment.service_id);
      });

      it('fails if it is no longer retained', async () => {
        const deployment = await rollback();
        await workshop.database.db('images').where({ id: deployment.image_id }).update({ removed_at: new Date() });
        await failureOf(run(deployment));
        await expectFailed(deployment, 'queued: the image to roll back to is no longer retained');
      });

      it('fails if it is not on this host: it cannot be built again', async () => {
        const deployment = await rollback(false);
        await failureOf(run(deployment));
        await expectFailed(deployment, 'release: the image to roll back to is not on this host any more');
      });
    });
  });

  describe('that loses its lease', () => {
    for (const step of ['build', 'release'] as const) {
      it(`in the ${step} step: leaves everything to the worker that has it`, async () => {
        const deployment = await workshop.deployment();
        const other = await workshop.worker();
        const takeOver = () => claimDeployment(workshop.database.db, deployment.id, other.workerId);
        if (step === 'build') workshop.builds.set(deployment.service_id, takeOver);
        else workshop.runtime.script(deployment.service_id, { onReady: takeOver });
        expect(await run(deployment, {}, deaf)).to.equal('superseded');
        const status = step === 'build' ? 'building' : 'releasing';
        expect(await workshop.read(deployment.id)).to.include({ status, fence: 2, worker_id: other.workerId });
        expect(workshop.runtime.calls).to.not.include(`stop ${deployment.id}`);
        expect((await workshop.service(deployment.service_id)).live_deployment_id).to.equal(null);
      });
    }

    it('while its step fails: records no failure', async () => {
      const deployment = await workshop.deployment();
      const other = await workshop.worker();
      workshop.builds.set(deployment.service_id, async () => {
        await claimDeployment(workshop.database.db, deployment.id, other.workerId);
        throw new BuildError('exit code 1');
      });
      expect(await run(deployment, {}, deaf)).to.equal('superseded');
      expect(await workshop.read(deployment.id)).to.include({ status: 'building', error: '' });
    });
  });

  describe('when its worker shuts down', () => {
    it('hands the deployment over, and another worker goes on from the same step', async () => {
      const deployment = await workshop.deployment();
      const shutdown = new AbortController();
      workshop.builds.set(
        deployment.service_id,
        untilAborted(() => shutdown.abort(new Interrupted('shutdown'))),
      );
      const error = await failureOf(run(deployment, { signal: shutdown.signal }));
      expect(error).to.be.instanceOf(Interrupted).and.to.have.property('why', 'shutdown');
      expect(await workshop.read(deployment.id)).to.include({ status: 'building', worker_id: null });

      workshop.builds.delete(deployment.service_id);
      expect(await run(deployment, {}, await workshop.worker())).to.equal('live');
      const ids = workshop.buildRequests.filter(({ serviceId }) => serviceId === deployment.service_id);
      expect(ids.map(({ id }) => id)).to.deep.equal([`${deployment.id}-1`, `${deployment.id}-2`]);
      expect(await workshop.messages(deployment.id)).to.include(
        'The worker is shutting down; another one continues the deployment',
      );
    });
  });

  describe('whose workers hang, crash or die', () => {
    it('gives up after two that hung or crashed in the same step', async () => {
      const deployment = await releasing(true, { worker_faults: 2, fence: 2 });
      await failureOf(run(deployment));
      const { error } = await workshop.read(deployment.id);
      expect(error).to.match(/^release: 2 workers hung or crashed in this step/);
      await expectFailed(deployment, error);
    });

    it('counts a fault that the worker noted about itself', async () => {
      const deployment = await releasing(true, { worker_faults: 1, fence: 1 });
      expect(await run(deployment)).to.equal('live');
      const noted = await releasing(true, { worker_faults: 1, fence: 1 });
      await workshop.noteFault(noted);
      await failureOf(run(noted));
      expect((await workshop.read(noted.id)).error).to.match(/^release: 2 workers hung or crashed/);
    });

    it('gives up after nine takeovers, and not after eight', async () => {
      const held = { worker_id: worker.workerId, fence: 8 };
      expect(await run(await releasing(true, { ...held, takeovers: 7 }))).to.equal('live');
      const deployment = await releasing(true, { ...held, takeovers: 8 });
      await failureOf(run(deployment));
      const { error } = await workshop.read(deployment.id);
      expect(error).to.match(/^release: 9 workers took this step and none came to its end/);
      await expectFailed(deployment, error);
    });

    it('never gives up a release that visitors see', async () => {
      const switched = { status: 'switched', went_live_at: new Date(), worker_faults: 9, takeovers: 99, fence: 9 };
      expect(await run(await releasing(true, switched))).to.equal('live');
    });
  });

  describe('whose variables cannot be opened', () => {
    it('fails at once, without a step', async () => {
      const deployment = await workshop.deployment();
      await updateRow(workshop.database.db, 'snapshots', deployment.snapshot_id, { sealed: Buffer.alloc(64) });
      expect(await failureOf(run(deployment))).to.be.instanceOf(JobFailed);
      const { error } = await workshop.read(deployment.id);
      expect(error).to.match(/^queued: what this deployment was queued with cannot be opened: /);
      await expectFailed(deployment, error);
      expect(workshop.buildRequests.map(({ serviceId }) => serviceId)).to.not.include(deployment.service_id);
    });
  });
});
