import { expect } from 'chai';
import type { DeploymentRow } from '../../../../shared/deployments/rows.js';
import { cancelOpenDeployments } from '../../../../shared/deployments/store.js';
import type { RunRow } from '../../../../shared/runs/model.js';
import { cancelOpenRuns } from '../../../../shared/runs/store.js';
import { performDeployment } from '../../../../workers/deploy/perform-deployment.js';
import { LeaseKeeper } from '../../../../workers/engine/lease-keeper.js';
import { Interrupted } from '../../../../workers/failures/interruption-errors.js';
import { runJob } from '../../../../workers/runs/perform-run.js';
import type { JobDeps } from '../../../../workers/worker-deps.js';
import { makeService } from '../../../support/factories.js';
import { eventually } from '../../../support/processes.js';
import { jobHelpers, type TestWorkshop, useTestWorkshop } from '../../../support/workshop.js';

const COMMAND = 'npm run migrate';

describe('The pre-deploy command of a deployment', () => {
  let workshop: TestWorkshop;
  let deployment: DeploymentRow;
  let finish: () => void;

  useTestWorkshop((opened) => ({ workshop } = opened));
  beforeEach(async () => {
    const service = await makeService(workshop.database.db, undefined, { preDeployCommand: COMMAND });
    deployment = await workshop.deployment({}, service);
    workshop.runtime.calls.length = 0;
  });

  const script = (changes: Parameters<TestWorkshop['runtime']['script']>[1]) =>
    workshop.runtime.script(deployment.service_id, changes);
  const waits = () => script({ until: () => new Promise<void>((resolve) => (finish = resolve)) });
  const ends = () => {
    // Replicas start without waiting.
    script({});
    finish();
  };
  const starts = () => workshop.runtime.calls.filter((call) => call === `command ${deployment.id} ${COMMAND}`).length;
  const perform = (deps: JobDeps, signal = new AbortController().signal) =>
    performDeployment(deps, deployment.id, jobHelpers({ signal })).then(
      ({ status }) => status,
      (error: Error) => error,
    );
  async function run(): Promise<RunRow> {
    const rows = await workshop.database.db<RunRow>('runs').where({ deployment_id: deployment.id });
    expect(rows).to.have.length(1);
    return rows[0] as RunRow;
  }

  it('fails the deployment with its cause, and has its exit code in its own record', async () => {
    script({ attemptEnds: () => ({ type: 'exited', exitCode: 4, detail: 'exited with code 4' }) });
    await perform(await workshop.worker());
    const { status, error } = await workshop.read(deployment.id);
    expect({ status, error }).to.deep.equal({
      status: 'failed',
      error: `release: the command "${COMMAND}" exited with code 4`,
    });
    expect(await run()).to.include({ status: 'failed', exit_code: 4, attempt: 1 });
    expect(workshop.runtime.calls).to.not.include(`release ${deployment.id}`);
  });

  it('ends with its deployment, before that is shown as cancelled', async () => {
    waits();
    const performed = perform(await workshop.worker());
    await eventually('it runs', () => starts() === 1);
    const { service_id: serviceId } = deployment;
    await workshop.database.db.transaction((trx) => cancelOpenDeployments(trx, { serviceId }));
    expect(await performed).to.equal('cancelled');
    expect(await run()).to.include({ status: 'cancelled', error: '' });
    expect(workshop.runtime.calls).to.include(`stop run ${(await run()).id}`);
  });

  it('that is cancelled by itself fails the deployment', async () => {
    waits();
    const performed = perform(await workshop.worker());
    await eventually('it runs', () => starts() === 1);
    const { id: runId, service_id: serviceId } = await run();
    await workshop.database.db.transaction((trx) => cancelOpenRuns(trx, { serviceId, runId }));
    await performed;
    expect((await workshop.read(deployment.id)).error).to.equal(
      `release: the pre-deploy command was cancelled (run ${runId})`,
    );
  });

  it('goes on with the next worker when the first one shuts down, in the same attempt of the same run', async () => {
    waits();
    const shutdown = new AbortController();
    const first = perform(await workshop.worker(), shutdown.signal);
    await eventually('it runs', () => starts() === 1);
    const before = await run();
    shutdown.abort(new Interrupted('shutdown'));
    expect(await first).to.be.instanceOf(Interrupted);
    expect(await run()).to.include({ status: 'running', worker_id: null, finished_at: null });
    const second = perform(await workshop.worker());
    await eventually('the next one waits for it', () => starts() === 2);
    ends();
    expect(await second).to.equal('live');
    expect(await run()).to.include({ id: before.id, attempt: 1, status: 'succeeded' });
    const release = (await workshop.read(deployment.id)).steps.filter(({ name }) => name === 'release');
    expect(release.map(({ runId }) => runId)).to.deep.equal([before.id]);
  });

  it('is taken back from a worker that took it because it had no lease for a while', async () => {
    waits();
    const performed = perform(await workshop.worker());
    await eventually('it runs', () => starts() === 1);
    const another = await workshop.worker();
    const leases = new LeaseKeeper(another.db, another.listener, another.log);
    try {
      const other = runJob({ ...another, leases }, { runId: (await run()).id }, jobHelpers());
      await eventually('it was taken back', () => starts() === 3);
      expect(await other).to.equal('superseded');
    } finally {
      leases.close();
    }
    ends();
    expect(await performed).to.equal('live');
  });

  it('that has succeeded is not repeated when the release begins anew', async () => {
    expect(await perform(await workshop.worker())).to.equal('live');
    const fresh = { status: 'releasing', finished_at: null, went_live_at: null };
    await workshop.database.db('deployments').where({ id: deployment.id }).update(fresh);
    expect(await perform(await workshop.worker())).to.equal('live');
    expect(starts()).to.equal(1);
  });

  it('that nobody waits for ends before its deployment does', async () => {
    waits();
    const shutdown = new AbortController();
    const first = perform(await workshop.worker(), shutdown.signal);
    await eventually('it runs', () => starts() === 1);
    shutdown.abort(new Interrupted('shutdown'));
    await first;
    await workshop.database.db('deployments').where({ id: deployment.id }).update({ takeovers: 100 });
    await perform(await workshop.worker());
    expect((await workshop.read(deployment.id)).status).to.equal('failed');
    expect(await run()).to.include({ status: 'cancelled' });
    expect(workshop.runtime.calls).to.include(`stop run ${(await run()).id}`);
  });
});
