import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { createLogger } from '../../../../shared/core/log.js';
import { nextTick } from '../../../../shared/runs/cron-ticks.js';
import type { RunRow } from '../../../../shared/runs/model.js';
import { changedSchedules, dueSchedules, fireTick } from '../../../../shared/runs/schedule-store.js';
import { deleteOldRuns } from '../../../../shared/runs/store.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { tickSchedules } from '../../../../workers/runs/tick-schedules.js';
import { makeService } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { pretendLive, updateRow } from '../../../support/records.js';

const MINUTE = 60_000;
const log = createLogger('test', 'silent');

describe('Schedules in the database', () => {
  const database = useTestDatabase();
  let service: ServiceRow;
  let woken = 0;

  beforeEach(async () => {
    await database.db.raw('truncate workspaces cascade');
    service = await makeService(database.db, undefined, { schedule: '* * * * *', timezone: 'UTC' }, 'cron');
    await pretendLive(database.db, service.id);
    woken = 0;
  });

  const pass = () => tickSchedules({ log, db: database.db, dispatcher: { wake: () => (woken += 1) } as never });
  const runs = () => database.db<RunRow>('runs').where({ service_id: service.id }).orderBy('scheduled_at');
  const planned = async () => (await database.db('schedules').where({ service_id: service.id }).first())?.next_run_at;
  const configure = (configuration: object) =>
    updateRow(database.db, 'services', service.id, { configuration: { ...service.configuration, ...configuration } });
  /** A schedule that has no tick during the test, even if a minute ends meanwhile. */
  const yearly = () => configure({ schedule: '0 0 1 1 *' });
  const missed = (ms: number) =>
    database.db('schedules').update({ next_run_at: new Date(Math.floor((Date.now() - ms) / MINUTE) * MINUTE) });

  it('a live service gets its next tick, and no run before it', async () => {
    const before = Date.now();
    await pass();
    expect((await planned())?.getTime()).to.be.within(before - 1000, Date.now() + MINUTE);
    expect(await runs()).to.deep.equal([]);
  });

  it('exactly one run for each tick, however many workers see it at once', async () => {
    await yearly();
    await pass();
    for (let round = 0; round < 5; round++) {
      await missed(0);
      await database.db('runs').delete();
      await Promise.all(Array.from({ length: 12 }, pass));
      expect(await runs()).to.have.length(1);
    }
    expect(woken).to.equal(5);
    expect((await planned())?.getTime()).to.be.greaterThan(Date.now() - 1000);
  });

  it('a tick that another worker has fired makes no run and moves nothing', async () => {
    await pass();
    await missed(0);
    const [due] = await dueSchedules(database.db, 10);
    if (!due) throw new Error('nothing is due');
    const fire = (minutes: number) => {
      const at = new Date(due.nextRunAt.getTime() + minutes * MINUTE);
      return fireTick(database.db, due, {
        runId: uuidv7(),
        scheduledAt: at,
        nextRunAt: new Date(at.getTime() + MINUTE),
      });
    };
    expect([await fire(0), await fire(5)]).to.deep.equal(['queued', null]);
    expect(await runs()).to.have.length(1);
    expect((await planned())?.getTime()).to.equal(due.nextRunAt.getTime() + MINUTE);
  });

  it('the same tick never makes a second run, also if the clock goes back', async () => {
    await yearly();
    await pass();
    const again = () => database.db('schedules').update({ next_run_at: tick });
    const tick = new Date(Math.floor(Date.now() / MINUTE) * MINUTE);
    await again();
    await pass();
    const [first] = await runs();
    expect(first?.scheduled_at).to.deep.equal(tick);
    await again();
    await pass();
    expect((await runs()).map(({ id }) => id)).to.deep.equal([first?.id]);
    await configure({});
    await pass();
    await database
      .db('schedules')
      .update({ planned_at: new Date(Date.now() + 600_000), next_run_at: new Date(Date.now() + 600_000) });
    await pass();
    expect((await planned())?.getTime()).to.be.lessThan(Date.now() + MINUTE + 1000);
  });

  it('ticks that were missed are made up for once, by the latest', async () => {
    await pass();
    await missed(90 * MINUTE);
    const before = Date.now();
    await pass();
    const made = await runs();
    expect(made).to.have.length(1);
    expect(made[0]?.scheduled_at.getTime()).to.be.within(before - MINUTE, Date.now());
    expect(made[0]).to.include({
      status: 'queued',
      trigger: 'schedule',
      attempt: 1,
      max_retries: 3,
      timeout_seconds: 3600,
    });
  });

  it('beyond maxConcurrency a tick is skipped and says so', async () => {
    await configure({ maxConcurrency: 2 });
    await pass();
    for (const minutes of [30, 20, 10]) {
      const [due] = await dueAt(minutes);
      if (!due) throw new Error('nothing is due');
      const tick = { runId: uuidv7(), scheduledAt: due.nextRunAt, nextRunAt: nextTick(due, due.now) };
      await fireTick(database.db, due, tick);
    }
    const [first, second, third] = await runs();
    expect([first?.status, second?.status, third?.status]).to.deep.equal(['queued', 'queued', 'skipped']);
    expect(third?.error).to.equal('2 earlier run(s) had not ended, as many as maxConcurrency allows');
    expect(third?.finished_at).to.not.equal(null);
    // A run of a given command does not count.
    await database.db('runs').where({ id: first?.id }).update({ trigger: 'manual', command: 'true' });
    await missed(0);
    await pass();
    expect((await runs()).at(-1)?.status).to.equal('queued');
  });

  async function dueAt(minutes: number) {
    await missed(minutes * MINUTE);
    return dueSchedules(database.db, 10);
  }

  it('suspending, archiving and deleting stop the schedule, and a change computes it anew', async () => {
    const stops = [{ lifecycle_status: 'suspended' }, { archived: true }, { lifecycle_status: 'deleting' }];
    for (const change of stops) {
      await database.db('services').where({ id: service.id }).update({ lifecycle_status: 'active', archived: false });
      await pass();
      await missed(0);
      await database.db('services').where({ id: service.id }).update(change);
      // A worker that saw the tick before the stop makes no run of it either.
      const [due] = await dueSchedules(database.db, 10);
      if (!due) throw new Error('nothing is due');
      expect(
        await fireTick(database.db, due, { runId: uuidv7(), scheduledAt: due.nextRunAt, nextRunAt: null }),
      ).to.equal(null);
      await pass();
      expect(await planned(), JSON.stringify(change)).to.equal(undefined);
    }
    expect(await runs()).to.deep.equal([]);
    await database.db('services').where({ id: service.id }).update({ lifecycle_status: 'active', archived: false });
    await pass();
    await configure({ schedule: '0 0 1 1 *', timezone: 'Asia/Tokyo' });
    await pass();
    expect((await planned())?.toISOString()).to.match(/-12-31T15:00:00.000Z$/);
    expect(await changedSchedules(database.db)).to.deep.equal([]);
  });

  it('old runs are deleted, open ones stay', async () => {
    await pass();
    for (const minutes of [40, 30]) {
      const [due] = await dueAt(minutes);
      if (due) await fireTick(database.db, due, { runId: uuidv7(), scheduledAt: due.nextRunAt, nextRunAt: due.now });
    }
    const [open] = await runs();
    await database
      .db('runs')
      .where({ status: 'skipped' })
      .update({ finished_at: new Date(Date.now() - 31 * 86_400_000) });
    expect(await deleteOldRuns(database.db)).to.equal(1);
    expect((await runs()).map(({ id }) => id)).to.deep.equal([open?.id]);
  });
});
