import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { claim } from '../../../../shared/engine/transition.js';
import { RUNS } from '../../../../shared/runs/kind.js';
import type { RunRow } from '../../../../shared/runs/model.js';
import { admitRuns } from '../../../../shared/runs/run-admission.js';
import { cancelOpenRuns } from '../../../../shared/runs/store.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { Interrupted } from '../../../../workers/failures/interruption-errors.js';
import { insertLogBatches } from '../../../../workers/logs/batch-store.js';
import { findAttempt, wantAttempt } from '../../../../workers/replicas/attempt-store.js';
import { claimReplica, releaseReplica } from '../../../../workers/replicas/start-store.js';
import { runJob } from '../../../../workers/runs/perform-run.js';
import { makeRun, makeService, makeWorker } from '../../../support/factories.js';
import { eventually } from '../../../support/processes.js';
import { pretendLive, readRow } from '../../../support/records.js';
import { jobHelpers, SECRET, type TestWorkshop, useTestWorkshop } from '../../../support/workshop.js';

describe('A run', () => {
  let workshop: TestWorkshop;
  let service: ServiceRow;
  let deploymentId: string;

  useTestWorkshop((opened) => ({ workshop } = opened));
  beforeEach(async () => {
    await workshop.database.db.raw('truncate workers, workspaces cascade');
    service = await makeService(workshop.database.db, undefined, {}, 'cron');
    deploymentId = await goLive(service);
  });

  /** Creates a live release of the service, whose image is on this host. */
  async function goLive(of: ServiceRow): Promise<string> {
    const { db } = workshop.database;
    // This deployment has the secret snapshot that the release runs with.
    const pretended = await pretendLive(db, of.id);
    const { image_id } = await db('deployments').where({ id: pretended }).first();
    const ended = { status: 'live', image_id, went_live_at: new Date(), finished_at: new Date() };
    const { id } = await workshop.deployment(ended, of);
    await db('services').where({ id: of.id }).update({ live_deployment_id: id });
    const image = await db('images').where({ id: image_id }).first();
    workshop.images.add(image.digest);
    return id;
  }

  const queueRun = async (changes: Partial<RunRow> = {}, of = service, deployment = deploymentId) =>
    (await makeRun(workshop.database.db, of, deployment, { max_retries: 1, ...changes })).id;
  const admit = () => workshop.database.db.transaction((trx) => admitRuns(trx));
  const read = (id: string) => readRow<RunRow>(workshop.database.db, 'runs', { id });
  const cancel = (runId: string) =>
    workshop.database.db.transaction((trx) => cancelOpenRuns(trx, { serviceId: service.id, runId }));
  const failing = { attemptEnds: () => ({ type: 'exited', exitCode: 3, detail: 'exited with code 3' }) as const };

  it('succeeds with its exit code, and its log says so', async () => {
    const deps = await workshop.worker();
    const id = await queueRun();
    expect(await admit()).to.equal(1);
    expect(await runJob(deps, { runId: id }, jobHelpers())).to.equal('succeeded');
    expect(await read(id)).to.include({ status: 'succeeded', exit_code: 0, error: '', lease_expires_at: null });
    expect(await workshop.messages(deploymentId)).to.deep.equal([
      `Run ${id} (manual, attempt 1) starts: node .`,
      `Run ${id} succeeded`,
    ]);
    expect(await runJob(deps, { runId: id }, jobHelpers()), 'a job that comes twice').to.equal('nothing to do');
  });

  it('that fails is queued again after a back-off, without a slot, and fails for good after its last attempt', async () => {
    const deps = await workshop.worker();
    workshop.runtime.script(service.id, failing);
    const id = await queueRun();
    await admit();
    expect(await runJob(deps, { runId: id }, jobHelpers())).to.equal('tried again');
    const waiting = await read(id);
    expect(waiting).to.include({ status: 'queued', attempt: 2, exit_code: 3, admitted_at: null, finished_at: null });
    expect(waiting.not_before.getTime()).to.be.greaterThan(Date.now() + 3_000);
    expect(await admit(), 'not before its time').to.equal(0);
    await workshop.database.db('runs').update({ not_before: new Date(Date.now() - 1000) });
    expect(await admit()).to.equal(1);
    expect(await runJob(deps, { runId: id }, jobHelpers())).to.equal('failed');
    expect(await read(id)).to.include({
      status: 'failed',
      exit_code: 3,
      error: 'the command "node ." exited with code 3',
    });
  });

  it('goes on with another worker if its worker shuts down, in the same attempt', async () => {
    let finish: () => void = () => undefined;
    workshop.runtime.script(service.id, { until: () => new Promise<void>((resolve) => (finish = resolve)) });
    const id = await queueRun();
    await makeWorker(workshop.database.db, 2);
    await admit();
    const shutdown = new AbortController();
    const first = runJob(await workshop.worker(), { runId: id }, jobHelpers({ signal: shutdown.signal }));
    first.catch(() => undefined);
    await eventually('it runs', () => workshop.runtime.calls.includes(`run ${id} 1`));
    shutdown.abort(new Interrupted('shutdown'));
    expect(await first.catch((error) => error)).to.be.instanceOf(Interrupted);
    expect(workshop.runtime.calls).to.not.include(`stop run ${id}`);
    const second = runJob(await workshop.worker(), { runId: id }, jobHelpers());
    await eventually(
      'the other one waits for it',
      () => workshop.runtime.calls.filter((call) => call === `run ${id} 1`).length === 2,
    );
    finish();
    expect(await second).to.equal('succeeded');
  });

  it('that is cancelled while it runs ends when everything of it has ended', async () => {
    workshop.runtime.script(service.id, { until: () => new Promise(() => undefined) });
    const id = await queueRun();
    const deps = await workshop.worker();
    await admit();
    const running = runJob(deps, { runId: id }, jobHelpers());
    await eventually('it runs', () => workshop.runtime.calls.includes(`run ${id} 1`));
    expect(await cancel(id)).to.equal(1);
    expect((await read(id)).status).to.equal('running');
    expect(await running).to.equal('cancelled');
    expect(workshop.runtime.calls).to.include(`stop run ${id}`);
    expect(await read(id)).to.include({ status: 'cancelled', error: '' });
    expect(await cancel(id), 'again').to.equal(0);
  });

  it('that waits ends at once when it is cancelled, and never runs', async () => {
    const id = await queueRun();
    await cancel(id);
    expect((await read(id)).status).to.equal('cancelled');
    await workshop.worker();
    expect(await admit()).to.equal(0);
  });

  it('is left to a worker that has the image', async () => {
    workshop.images.clear();
    const id = await queueRun();
    const deps = await workshop.worker();
    await admit();
    expect(await runJob(deps, { runId: id }, jobHelpers())).to.equal('left to a worker that has the image');
    expect((await read(id)).due_at).to.not.equal(null);
    await workshop.database.db('runs').update({ admitted_at: new Date(Date.now() - 3_600_000) });
    await runJob(deps, { runId: id }, jobHelpers());
    expect((await read(id)).error).to.equal(
      'the image of the release is on no host of a worker; deploy the service again',
    );
  });

  describe('of a command that was given', () => {
    const COMMAND = 'npm run migrate';
    const given = { command: COMMAND, max_retries: 0 };

    it('runs it in place of the command of the service, and each line of its log names the run', async () => {
      const deps = await workshop.worker();
      const id = await queueRun(given);
      await admit();
      expect(await runJob(deps, { runId: id }, jobHelpers())).to.equal('succeeded');
      expect(workshop.runtime.calls).to.include(`command ${deploymentId} ${COMMAND}`);
      const lines = await workshop.database.db('log_lines').where({ run_id: id }).orderBy('id').pluck('message');
      expect(lines).to.deep.equal([`Run ${id} (manual, attempt 1) starts: ${COMMAND}`, `Run ${id} succeeded`]);
    });

    it('that fails is not tried again, and its error has its last output, masked', async () => {
      const deps = await workshop.worker();
      const id = await queueRun(given);
      workshop.runtime.script(service.id, {
        ...failing,
        until: async () => {
          const lines = ['no table', `key ${SECRET}`].map((message) => ({
            level: 'info' as const,
            message: message.replace(SECRET, '***'),
            timestamp: new Date().toISOString(),
          }));
          // Lines of a waiting batch are stored first.
          const batch = { serviceId: service.id, deploymentId, runId: id, source: 'runtime' as const, lines };
          await insertLogBatches(workshop.database.db, [batch]);
        },
      });
      await admit();
      expect(await runJob(deps, { runId: id }, jobHelpers())).to.equal('failed');
      expect(await read(id)).to.include({
        status: 'failed',
        attempt: 1,
        exit_code: 3,
        error: `the command "${COMMAND}" exited with code 3; its last output: no table\nkey ***`,
      });
    });

    it('is not started again if its start was interrupted, but that of a schedule is', async () => {
      const { db } = workshop.database;
      for (const [changes, state] of [
        [given, 'exited'],
        [{}, 'pending'],
        [{ ...given, trigger: 'deployment' }, 'pending'],
      ] as const) {
        const id = await queueRun(changes);
        const { number } = await read(id);
        const place = { serviceId: service.id, deploymentId, hostId: uuidv7() };
        await wantAttempt(db, { ...place, runId: id, runNumber: number, attempt: 1 });
        const wanted = await findAttempt(db, id, 1);
        if (wanted === null) throw new Error('no attempt');
        await claimReplica(db, wanted, null);
        await releaseReplica(db, wanted);
        expect((await findAttempt(db, id, 1))?.state, JSON.stringify(changes)).to.equal(state);
      }
    });

    it('neither takes the slot of another one nor the release that serves, if a deployment runs it', async () => {
      await makeWorker(workshop.database.db, 1);
      const admitted_at = new Date();
      const next = await workshop.deployment({}, service);
      const own = await queueRun({ ...given, trigger: 'deployment', admitted_at }, service, next.id);
      await queueRun();
      expect(await admit()).to.equal(1);
      const [row] = await workshop.database.db('runs').where({ id: own });
      expect((await claim<RunRow>(workshop.database.db, RUNS, row.id, uuidv7()))?.deployment_id).to.equal(next.id);
    });
  });

  it('gets a slot in turn, and no workspace takes more than half of them', async () => {
    await makeWorker(workshop.database.db, 4);
    for (let i = 0; i < 5; i++) await queueRun();
    const other = await makeService(workshop.database.db, undefined, {}, 'cron');
    const theirs = await queueRun({}, other, await goLive(other));
    expect(await admit()).to.equal(3);
    expect((await read(theirs)).admitted_at).to.not.equal(null);
    expect(await admit()).to.equal(0);
    await Promise.all([admit(), admit(), admit()]);
    const admitted = await workshop.database.db('runs').whereNotNull('admitted_at');
    expect(admitted).to.have.length(3);
  });
});
