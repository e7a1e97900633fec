import { expect } from 'chai';
import { createLogger } from '../../../../shared/core/log.js';
import { Leadership, retryPauseMs } from '../../../../workers/core/leadership.js';
import { createTestDatabase, type TestDatabase } from '../../../support/postgres.js';
import { eventually } from '../../../support/processes.js';

const NAME = 'ranvier.test-leader';

describe('A leader', () => {
  let database: TestDatabase;
  const candidates: Leadership[] = [];
  const leaders = () => candidates.filter(({ leading }) => leading);
  before(async () => {
    database = await createTestDatabase();
    for (let i = 0; i < 5; i++) {
      candidates.push(new Leadership(database.url, NAME, createLogger('test', 'silent')));
      await candidates[i]?.start();
    }
  });
  after(async () => {
    for (const candidate of candidates) await candidate.close();
    await database.drop();
  });

  it('is one of all candidates, and another one follows it', async () => {
    expect(leaders()).to.have.length(1);
    await leaders()[0]?.close();
    await eventually('another candidate leads', () => leaders().length === 1);
  });

  it('ends with its connection, and competes again', async () => {
    const [old] = leaders();
    await database.db.raw(
      `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted and pid in
         (select pid from pg_stat_activity where application_name = ?)`,
      [NAME],
    );
    await eventually('it has lost the lead', () => old?.leading === false || leaders()[0] !== old);
    await eventually('a candidate leads', () => leaders().length === 1);
    for (const other of leaders()) if (other !== old) await other.close();
    for (const other of candidates) if (other !== old) await other.close();
    await eventually('it leads again', () => old?.leading === true);
  });

  it('is asked for about once a second by all candidates together', () => {
    expect(retryPauseMs(1, 0.9)).to.equal(1000);
    expect(retryPauseMs(1000, 0)).to.equal(500_000);
    expect(retryPauseMs(1000, 1)).to.equal(1_500_000);
  });
});
