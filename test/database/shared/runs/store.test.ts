import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { queueRun, requestRunCancel } from '../../../../api/resources/runs/commands.js';
import type { Db } from '../../../../shared/core/database/database-client.js';
import { waitingWork } from '../../../../shared/engine/due-records.js';
import type { Lease } from '../../../../shared/engine/leases.js';
import { claim as claimRecord, transition } from '../../../../shared/engine/transition.js';
import { KINDS } from '../../../../shared/queues/work-catalog.js';
import { RUNS } from '../../../../shared/runs/kind.js';
import type { RunRow } from '../../../../shared/runs/model.js';
import { admitRuns } from '../../../../shared/runs/run-admission.js';
import { cancelOpenRuns, deleteOldRuns, retrySql } from '../../../../shared/runs/store.js';
import type { CommandDeps } from '../../../../shared/secrets/command-deps.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { makeReplica, makeRun, makeService, makeWorker } from '../../../support/factories.js';
import { codeOf } from '../../../support/outcomes.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { pretendLive } from '../../../support/records.js';

describe('Runs in the database', () => {
  const database = useTestDatabase();
  let db: Db;
  let service: ServiceRow;
  let deploymentId: string;
  beforeEach(async () => {
    db = database.db;
    await db.raw('truncate workers, workspaces cascade');
    service = await makeService(db, undefined, { maxConcurrency: 1 }, 'cron');
    deploymentId = await pretendLive(db, service.id);
  });

  async function run(changes: Partial<RunRow> = {}): Promise<string> {
    return (await makeRun(db, service, deploymentId, { max_retries: 1, ...changes })).id;
  }
  const read = async (id: string) => (await db<RunRow>('runs').where({ id }).first()) as RunRow;
  const admitted = () => run({ admitted_at: new Date() });
  const claim = async (id: string) => (await claimRecord<RunRow>(db, RUNS, id, uuidv7())) as RunRow;
  const end = (lease: Lease, event = 'succeeded', error = '') =>
    transition<RunRow>(db, RUNS, lease, event, { set: { exit_code: event === 'succeeded' ? 0 : 1, error } });
  const retry = (lease: Lease) =>
    transition(db, RUNS, lease, 'retried', { set: { exit_code: 3, error: 'it failed' }, sql: retrySql(60_000) });
  const admit = () => db.transaction((trx) => admitRuns(trx));
  const cancel = (runId: string) => db.transaction((trx) => cancelOpenRuns(trx, { serviceId: service.id, runId }));

  it('a worker claims one that was admitted and has not ended', async () => {
    const waiting = await run();
    expect(await claim(waiting)).to.equal(null);
    const id = await admitted();
    expect(await claim(id)).to.include({ status: 'running', fence: 1 });
    await end(await read(id));
    expect(await claim(id)).to.equal(null);
  });

  it('belongs to its last claim alone', async () => {
    const id = await admitted();
    const [first, second] = [await claim(id), await claim(id)];
    expect(await retry(first)).to.equal(null);
    expect(await end(first)).to.equal(null);
    expect(await end(second)).to.not.equal(null);
    expect(await end(second, 'failed')).to.equal(null);
    expect(await read(id)).to.include({ status: 'succeeded', exit_code: 0 });
  });

  it('an attempt that has not begun is one of the live release, another stays with its own', async () => {
    const [begun, waiting] = [await admitted(), await admitted()];
    await makeReplica(db, service.id, deploymentId, { run_id: begun, run_attempt: 1 });
    const next = await pretendLive(db, service.id);
    expect(await claim(begun)).to.include({ deployment_id: deploymentId });
    expect(await claim(waiting)).to.include({ deployment_id: next });
  });

  it('that is tried again waits for its time and for a slot', async () => {
    await makeWorker(db, 4);
    const id = await admitted();
    expect(await retry(await claim(id))).to.not.equal(null);
    expect(await read(id)).to.include({ status: 'queued', attempt: 2, admitted_at: null, worker_id: null });
    expect([(await waitingWork(db, KINDS)).waiting.includes('runs'), await admit()]).to.deep.equal([false, 0]);
    await db('runs').update({ not_before: new Date(Date.now() - 1000) });
    expect([(await waitingWork(db, KINDS)).waiting.includes('runs'), await admit()]).to.deep.equal([true, 1]);
    expect((await read(id)).due_at).to.be.instanceOf(Date);
  });

  it('that waits ends with its cancellation, and one that runs when its worker ends it', async () => {
    const [waiting, running] = [await run(), await admitted()];
    const claimed = await claim(running);
    expect(await cancel(waiting)).to.equal(1);
    expect(await cancel(running)).to.equal(1);
    expect(await read(waiting)).to.include({ status: 'cancelled', due_at: null });
    expect(await read(running)).to.include({ status: 'running', finished_at: null });
    expect(await retry(claimed)).to.equal(null);
    expect(await end(claimed, 'failed', 'it failed')).to.not.equal(null);
    expect(await read(running)).to.include({ status: 'cancelled', error: '' });
    expect(await cancel(running)).to.equal(0);
  });

  it('silent workers have no slots, and ended runs take none', async () => {
    await makeWorker(db, 2);
    const id = await admitted();
    await run();
    expect(await admit(), 'half of two slots').to.equal(0);
    await end(await claim(id));
    await db('workers').update({ seen_at: db.raw(`now() - interval '5 minutes'`) });
    expect(await admit(), 'no worker').to.equal(0);
    await db('workers').update({ seen_at: new Date() });
    expect(await admit()).to.equal(1);
  });

  it('no more run than the workers have slots, also of many workspaces', async () => {
    await makeWorker(db, 2);
    for (let i = 0; i < 3; i++) {
      service = await makeService(db, undefined, {}, 'cron');
      deploymentId = await pretendLive(db, service.id);
      await run();
    }
    expect([await admit(), await admit()]).to.deep.equal([2, 0]);
  });

  it('are deleted 30 days after their end, unless a process of theirs is left', async () => {
    const finished_at = new Date(Date.now() - 31 * 86_400_000);
    const [old, left] = [await run({ status: 'failed', finished_at }), await run({ status: 'failed', finished_at })];
    const recent = await run({ status: 'failed', finished_at: new Date(Date.now() - 29 * 86_400_000) });
    await makeReplica(db, service.id, deploymentId, { run_id: left, run_attempt: 1 });
    expect(await deleteOldRuns(db)).to.equal(1);
    expect(await db('runs').pluck('id')).to.have.members([left, recent]);
    expect(await read(old)).to.equal(undefined);
  });

  describe('on demand', () => {
    const deps = (changes = {}) => ({ config: { hostingEnabled: true, ...changes } }) as unknown as CommandDeps;
    const queue = (changes = {}) =>
      db.transaction((trx) =>
        queueRun(trx, deps(changes), { service, actor: 'me', body: {}, authorize: () => undefined }),
      );
    const change = (fields: object) => db('services').where({ id: service.id }).update(fields);

    it('are queued while fewer than maxConcurrency have not ended, also at once', async () => {
      const codes = await Promise.all([codeOf(queue()), codeOf(queue())]);
      expect(codes.sort()).to.deep.equal(['conflict', 'done']);
      await db('runs').update({ status: 'failed', finished_at: new Date() });
      expect(await queue()).to.include({ trigger: 'manual', actor: 'me', deployment_id: deploymentId });
    });

    it('are refused for services that cannot run', async () => {
      const { kind, archived, lifecycle_status, live_deployment_id, deleted_at } = await db('services')
        .where({ id: service.id })
        .first();
      const refused: [string, object][] = [
        ['conflict', { lifecycle_status: 'deleting' }],
        ['conflict', { lifecycle_status: 'suspended' }],
        ['service_archived', { archived: true }],
        ['no_runtime', { live_deployment_id: null }],
        ['not_found', { deleted_at: new Date() }],
      ];
      for (const [code, fields] of refused) {
        await change({ kind, archived, lifecycle_status: 'active', live_deployment_id, deleted_at, ...fields });
        expect(await codeOf(queue()), JSON.stringify(fields)).to.equal(code);
      }
      await change({ kind, archived, lifecycle_status, live_deployment_id, deleted_at });
      expect(await codeOf(queue({ hostingEnabled: false }))).to.equal('hosting_disabled');
    });

    it('are cancelled only as long as they have not ended', async () => {
      const { id: runId } = await queue();
      const request = (id = runId) =>
        codeOf(db.transaction((trx) => requestRunCancel(trx, { serviceId: service.id, runId: id })));
      expect([await request(), await request(), await request(uuidv7())]).to.deep.equal([
        'done',
        'conflict',
        'not_found',
      ]);
    });
  });
});
