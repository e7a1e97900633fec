import { expect } from 'chai';
import type { Outcome } from '../../../../workers/engine/perform-record.js';
import { Interrupted, JobFailed } from '../../../../workers/failures/interruption-errors.js';
import { DONE, runOperation } from '../../../../workers/operations/run-operation.js';
import type { JobDeps } from '../../../../workers/worker-deps.js';
import { makeOperation, makeService } from '../../../support/factories.js';
import { jobHelpers, type TestWorkshop, useTestWorkshop } from '../../../support/workshop.js';

describe('An operation that a worker runs', () => {
  let workshop: TestWorkshop;
  let worker: JobDeps;
  useTestWorkshop((opened) => ({ workshop, worker } = opened));

  async function queued(): Promise<string> {
    const { db } = workshop.database;
    return (await makeOperation(db, await makeService(db), 'restart')).id;
  }
  const read = (id: string) => workshop.database.db('operations').where({ id }).first();
  const run = (id: string, work: () => Promise<Outcome>, helpers = {}) =>
    runOperation(worker, id, jobHelpers(helpers), work).catch((error: unknown) => error);

  it('succeeds with its work, and is left to its next job if that says so', async () => {
    const [done, later] = [await queued(), await queued()];
    expect(await run(done, async () => DONE)).to.equal('succeeded');
    expect(await read(done)).to.include({ status: 'succeeded', worker_id: null });
    expect(await run(later, async () => ({ laterInMs: 500, says: 'later' }))).to.equal('later');
    expect(await read(later)).to.include({ status: 'queued', worker_id: null, finished_at: null });
  });

  it('stays open after a fault of the platform, until the last try', async () => {
    const id = await queued();
    const fault = () => Promise.reject(new Error('the database is away'));
    expect(await run(id, fault))
      .to.be.instanceOf(Error)
      .and.not.instanceOf(JobFailed);
    expect((await read(id)).finished_at).to.equal(null);
    expect(await run(id, fault, { lastAttempt: true })).to.be.instanceOf(JobFailed);
    expect(await read(id)).to.include({ status: 'failed', error: 'restart: internal error: the database is away' });
    expect(await run(id, async () => DONE)).to.equal('nothing to do');
  });

  it('is given back when the worker shuts down', async () => {
    const id = await queued();
    const shutdown = new AbortController();
    const work = () => {
      shutdown.abort(new Interrupted('shutdown'));
      return Promise.reject(shutdown.signal.reason);
    };
    expect(await run(id, work, { signal: shutdown.signal })).to.be.instanceOf(Interrupted);
    expect(await read(id)).to.include({ status: 'queued', worker_id: null });
  });
});
