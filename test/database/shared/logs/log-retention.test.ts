import { expect } from 'chai';
import { dropExpiredLogs, ensureLogDays } from '../../../../shared/logs/log-retention.js';
import { PLANS } from '../../../../shared/services/plan-catalog.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { storeLines } from '../../../../workers/logs/store-lines.js';
import type { ReplicaRow } from '../../../../workers/replicas/rows.js';
import { deleteOldReplicas } from '../../../../workers/replicas/store.js';
import { makeDeployment, makeReplica, makeService } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';

const HOUR = 60 * 60_000;
const DAY = 24 * HOUR;

describe('Retention', () => {
  const database = useTestDatabase();

  beforeEach(async () => {
    await database.db('log_lines').delete();
    // A new database may have a partition of yesterday, if it was made before midnight.
    await dropExpiredLogs(database.db);
    await ensureLogDays(database.db);
  });

  async function addLine(service: ServiceRow, age: number): Promise<void> {
    const line = { level: 'info' as const, message: 'x', timestamp: new Date(Date.now() - age).toISOString() };
    await storeLines(database.db, { serviceId: service.id, deploymentId: null, source: 'runtime', lines: [line] });
  }

  const ids = async (service: ServiceRow) =>
    (await database.db('log_lines').where({ service_id: service.id }).orderBy('id')).map(({ id }) => Number(id));

  for (const { id: plan, logDays } of PLANS) {
    it(`keeps log lines of the plan ${plan} for ${logDays} days and until that day ends, and no hour less`, async () => {
      const service = await makeService(database.db, undefined, { plan });
      await addLine(service, (logDays + 1) * DAY + HOUR);
      await addLine(service, logDays * DAY - HOUR);
      await addLine(service, 0);
      expect(await dropExpiredLogs(database.db)).to.equal(1);
      expect(await ids(service)).to.deep.equal([2, 3]);
    });
  }

  it('deletes the lines of each service by its own plan', async () => {
    const [first, last] = [PLANS[0], PLANS.at(-1)];
    if (!first || !last) throw new Error('there are no plans');
    expect(first.logDays).to.be.lessThan(last.logDays);
    const [short, long] = [
      await makeService(database.db, undefined, { plan: first.id }),
      await makeService(database.db, undefined, { plan: last.id }),
    ];
    for (const service of [short, long]) await addLine(service, (first.logDays + 1) * DAY + HOUR);
    expect(await dropExpiredLogs(database.db)).to.equal(1);
    expect([await ids(short), await ids(long)]).to.deep.equal([[], [1]]);
  });

  it('drops the partition of a day whose lines have expired, and no other', async () => {
    const service = await makeService(database.db);
    await database.db.raw('create table log_lines_20200101 (like log_lines including all)');
    await database.db.raw(
      `alter table log_lines attach partition log_lines_20200101 for values from ('2020-01-01') to ('2020-01-02')`,
    );
    await database.db('log_lines').insert({
      service_id: service.id,
      id: 1,
      source: 'runtime',
      level: 'info',
      message: 'old',
      logged_at: new Date(0),
      expires_on: '2020-01-01',
    });
    const before = await days();
    expect(before).to.include('log_lines_20200101');
    expect(await dropExpiredLogs(database.db)).to.equal(1);
    expect(await days()).to.deep.equal(before.filter((name) => name !== 'log_lines_20200101'));
    expect(await ids(service)).to.deep.equal([]);
  });

  it('makes the days ahead on which lines will expire, and moves lines there that came before', async () => {
    const complete = await days();
    const last = complete.at(-1) ?? '';
    await database.db.raw('drop table ??', [last]);
    const service = await makeService(database.db);
    const expires_on = last.replace(/^\D+(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3');
    const line = {
      service_id: service.id,
      id: 1,
      source: 'runtime',
      level: 'info',
      message: 'x',
      logged_at: new Date(),
    };
    await database.db('log_lines').insert({ ...line, expires_on });
    await ensureLogDays(database.db);
    expect(await days()).to.deep.equal(complete);
    expect(await database.db('log_lines_other').select('id')).to.deep.equal([]);
    expect(await database.db(last).select('id')).to.deep.equal([{ id: 1 }]);
    await ensureLogDays(database.db);
    expect(await days(), 'a second run').to.deep.equal(complete);
  });

  async function days(): Promise<string[]> {
    const { rows } = await database.db.raw<{ rows: { name: string }[] }>(
      `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'log_lines'::regclass and c.relname ~ '[0-9]$' order by name`,
    );
    return rows.map(({ name }) => name);
  }

  it('deletes stopped replicas after a day, and no others', async () => {
    const service = await makeService(database.db);
    const deployment = await makeDeployment(database.db, service);
    const add = async (position: number, state: string, stoppedAgo: number | null) => {
      const stopped_at = stoppedAgo === null ? null : new Date(Date.now() - stoppedAgo);
      const row = { position, state: state as ReplicaRow['state'], stopped_at };
      return makeReplica(database.db, service.id, deployment.id, row);
    };
    await add(0, 'stopped', DAY + HOUR);
    const kept = [await add(1, 'stopped', DAY - HOUR), await add(2, 'ready', null), await add(3, 'ready', 2 * DAY)];
    expect(await deleteOldReplicas(database.db)).to.equal(1);
    const left = (await database.db('replicas').select('id')).map(({ id }) => id);
    expect(left).to.have.members(kept);
  });
});
