import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { findAttempt, wantAttempt } from '../../../../workers/replicas/attempt-store.js';
import { makeRun, makeService } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { pretendLive } from '../../../support/records.js';

const ROUNDS = 100;
const WORKERS = 8;

describe('An attempt of a run', () => {
  const database = useTestDatabase();

  it('is wanted once, however many workers want it at the same time', async () => {
    const { db } = database;
    const service = await makeService(db, undefined, {}, 'cron');
    const deploymentId = await pretendLive(db, service.id);
    for (let round = 0; round < ROUNDS; round++) {
      const run = await makeRun(db, service, deploymentId);
      const wanted = {
        runId: run.id,
        runNumber: run.number,
        attempt: 1,
        serviceId: service.id,
        deploymentId,
        hostId: uuidv7(),
      };
      await Promise.all(Array.from({ length: WORKERS }, () => wantAttempt(db, wanted)));
      expect(await db('replicas').where({ run_id: run.id })).to.have.length(1);
      expect((await findAttempt(db, run.id, 1))?.host_id).to.equal(wanted.hostId);
    }
  });
});
