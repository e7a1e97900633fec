import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { findAttempt, wantAttempt } from '../../../../workers/replicas/attempt-store.js';
import { makeService } from '../../../support/factories.js';
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
      const [run] = await db('runs')
        .insert({
          id: uuidv7(),
          workspace_id: service.workspace_id,
          service_id: service.id,
          deployment_id: deploymentId,
          trigger: 'manual',
          max_retries: 0,
          timeout_seconds: 60,
          scheduled_at: new Date(),
        })
        .returning(['id', 'number']);
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
