import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { recordChecks } from '../../../../workers/replicas/check-store.js';
import { wantReplicas } from '../../../../workers/replicas/desire-store.js';
import type { ReplicaRow } from '../../../../workers/replicas/rows.js';
import { claimReplica } from '../../../../workers/replicas/start-store.js';
import { recordReady, replicasOf } from '../../../../workers/replicas/store.js';
import { CheckRecorder } from '../../../../workers/runtime/check-recorder.js';
import { makeService } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { pretendLive } from '../../../support/records.js';

const LONG_AGO = new Date('2026-01-01T00:00:00Z');

describe('Checks that change nothing', () => {
  const database = useTestDatabase();
  let serviceId: string;
  let rows: ReplicaRow[];

  beforeEach(async () => {
    const { db } = database;
    ({ id: serviceId } = await makeService(db));
    const deploymentId = await pretendLive(db, serviceId);
    await wantReplicas(db, { serviceId, deploymentId, hostId: uuidv7() }, 2, false);
    for (const [i, row] of (await replicasOf(db, deploymentId)).entries()) {
      expect(await claimReplica(db, row, 20_000 + i)).to.equal('claimed');
      await recordReady(db, row);
    }
    await db('replicas').update({ checked_at: LONG_AGO });
    await db('services').update({ health_checked_at: LONG_AGO });
    rows = await replicasOf(db, deploymentId);
  });

  const mine = () => database.db<ReplicaRow>('replicas').where({ service_id: serviceId }).orderBy('position');
  const checkedAt = async () => (await mine()).map((row) => row.checked_at);
  const service = () => database.db('services').where({ id: serviceId }).first();

  it('are recorded for all replicas, which do not count as changed, and for their service', async () => {
    await recordChecks(database.db, rows);
    for (const at of await checkedAt()) expect(at).to.be.greaterThan(LONG_AGO);
    expect((await service()).health_checked_at).to.be.greaterThan(LONG_AGO);
    expect((await mine()).map((row) => row.updated_at)).to.deep.equal(rows.map((row) => row.updated_at));
  });

  it('are not recorded for another attempt, for one that does not run, or for a release that does not serve', async () => {
    const [one, two] = rows;
    if (!one || !two) throw new Error('no replicas');
    await database.db('replicas').where({ id: two.id }).update({ state: 'exited' });
    await recordChecks(database.db, [{ ...one, restarts: one.restarts + 1 }, two]);
    expect(await checkedAt()).to.deep.equal([LONG_AGO, LONG_AGO]);
    await pretendLive(database.db, serviceId);
    await database.db('services').update({ health_checked_at: LONG_AGO });
    await recordChecks(database.db, [one]);
    expect((await service()).health_checked_at).to.deep.equal(LONG_AGO);
  });

  it('do not wait for a row that another transaction holds', async () => {
    const [one, two] = rows;
    await database.db.transaction(async (trx) => {
      await trx('replicas').where({ id: one?.id }).forUpdate();
      await recordChecks(database.db, rows);
      expect(await checkedAt()).to.satisfy(([first]: Date[]) => first?.getTime() === LONG_AGO.getTime());
      await trx('services').where({ id: serviceId }).forUpdate();
      await recordChecks(database.db, rows);
    });
    const [first, second] = await checkedAt();
    expect(first).to.deep.equal(LONG_AGO);
    expect(second).to.be.greaterThan(two?.checked_at ?? new Date());
  });

  it("correct a service's summary that does not match its replicas", async () => {
    await database.db('services').update({ health_status: 'unhealthy', runtime_detail: 'old' });
    await recordChecks(database.db, rows.slice(0, 1));
    expect(await service()).to.include({ health_status: 'ready', runtime_detail: '2 of 2 replicas ready' });
  });

  it('of a worker are recorded together', async () => {
    const recorder = new CheckRecorder(database.db, { warn: (text: string) => expect.fail(text) } as never);
    for (const row of [...rows, ...rows]) recorder.add(row);
    await recorder.record();
    await recorder.close();
    for (const at of await checkedAt()) expect(at).to.be.greaterThan(LONG_AGO);
  });
});
