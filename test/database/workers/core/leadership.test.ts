import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import pg from 'pg';
import { pino } from 'pino';
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

  it('that is silent loses the lead, and one that is only idle keeps it', async () => {
    for (const candidate of candidates) await candidate.close();
    const warnings: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) });
    // This connection stands for a stopped process: it lives, and sends nothing.
    const stopped = new pg.Client({ connectionString: database.url, application_name: NAME });
    await stopped.connect();
    const ended = new Promise<void>((resolve) => stopped.on('error', () => resolve()));
    await stopped.query('select pg_advisory_lock(hashtextextended($1, 0))', [NAME]);
    const [next, other] = [0, 1].map(() => new Leadership(database.url, NAME, log, undefined, 3_000));
    candidates.push(...([next, other] as Leadership[]));
    await Promise.all([next?.start(), other?.start()]);
    expect(leaders()).to.deep.equal([]);
    await ended;
    await eventually('another one leads', () => leaders().length === 1);
    const [leader] = leaders();
    await delay(5_000);
    expect(leaders()).to.deep.equal([leader]);
    expect(warnings.filter((line) => line.includes('silent'))).to.have.length(1);
  }).timeout(60_000);

  it('is asked for about once a second by all candidates together', () => {
    expect(retryPauseMs(1, 0.9)).to.equal(1000);
    expect(retryPauseMs(1000, 0)).to.equal(500_000);
    expect(retryPauseMs(1000, 1)).to.equal(1_500_000);
  });
});
