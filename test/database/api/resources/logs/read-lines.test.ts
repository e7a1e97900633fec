import { expect } from 'chai';
import { type LogQuery, readLogs } from '../../../../../api/resources/logs/read-lines.js';
import type { ServiceRow } from '../../../../../shared/services/rows.js';
import { makeDeployment, makeService } from '../../../../support/factories.js';
import { useTestDatabase } from '../../../../support/postgres.js';

describe('Lines of a log', () => {
  const database = useTestDatabase();
  let service: ServiceRow;
  beforeEach(async () => {
    await database.db('log_lines').delete();
    service = await makeService(database.db);
  });

  async function insert(id: number, message: string, fields: object = {}): Promise<void> {
    const row = { service_id: service.id, id, source: 'runtime', level: 'info', message, logged_at: new Date() };
    await database.db('log_lines').insert({ ...row, ...fields });
  }

  async function read(query: Partial<LogQuery> = {}): Promise<number[]> {
    const { lines } = await readLogs(database.db, { serviceId: service.id, hours: 1, limit: 100, ...query });
    return lines.map(({ id }) => id);
  }

  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);

  it('are read after a cursor, each once', async () => {
    for (let id = 1; id <= 5; id++) await insert(id, 'x');
    expect(await read({ after: 0 })).to.deep.equal([1, 2, 3, 4, 5]);
    expect(await read({ after: 2 })).to.deep.equal([3, 4, 5]);
    expect(await read({ limit: 2 }), 'the newest').to.deep.equal([4, 5]);
    const query = { serviceId: service.id, hours: 1 };
    expect((await readLogs(database.db, { ...query, after: 2, limit: 2 })).hasMore).to.equal(true);
    expect((await readLogs(database.db, { ...query, after: 2, limit: 3 })).hasMore).to.equal(false);
  });

  it('are filtered by age, source, and text as it is written', async () => {
    await insert(1, 'old', { logged_at: hoursAgo(2) });
    await insert(2, '100% done', { source: 'build' });
    await insert(3, '100 done');
    expect(await read()).to.deep.equal([2, 3]);
    expect(await read({ source: 'build' })).to.deep.equal([2]);
    expect(await read({ search: '100%' })).to.deep.equal([2]);
    expect(await read({ search: 'DONE' })).to.deep.equal([2, 3]);
  });

  it('are read without a visit to all that are too old, however many there are', async () => {
    const OLD = 20_000;
    const { db } = database;
    // A partition holds several days, so a read of the last day also looks into lines of 23 days ago.
    await db.raw(
      `insert into log_lines (service_id, id, source, level, message, logged_at, expires_on)
       select cast(:id as uuid), n, 'runtime', 'info', 'old', now() - interval '23 days', (now() at time zone 'UTC')::date + 8
         from generate_series(1, cast(:old as int)) n`,
      { id: service.id, old: OLD },
    );
    for (let id = OLD + 1; id <= OLD + 3; id++) await insert(id, 'new');
    await db('log_counters').insert({ service_id: service.id, last_id: OLD + 3 });
    await db.raw('analyze log_lines');

    const queries: [Partial<LogQuery>, number[]][] = [
      [{}, [OLD + 1, OLD + 2, OLD + 3]],
      [{ after: 0 }, [OLD + 1, OLD + 2, OLD + 3]],
      [{ after: OLD + 2 }, [OLD + 3]],
      [{ before: OLD + 3 }, [OLD + 1, OLD + 2]],
    ];
    for (const [query, expected] of queries) {
      const [ids, visited] = await db.transaction(async (trx) => {
        const { lines } = await readLogs(trx, { serviceId: service.id, hours: 24, limit: 100, ...query });
        const counted = `select sum(seq_tup_read + idx_tup_fetch) as rows from pg_stat_xact_user_tables where relname like 'log_lines%'`;
        const [row] = (await trx.raw(counted)).rows as { rows: string }[];
        return [lines.map(({ id }) => id), Number(row?.rows)];
      });
      expect(ids).to.deep.equal(expected);
      expect(visited, JSON.stringify(query)).to.be.within(1, 1000);
    }
    expect((await read({ hours: 30 * 24, limit: 2, after: 0 })).length, 'all that are kept').to.equal(2);
  });

  it('of one branch leave out what deployments of other branches wrote', async () => {
    const main = await makeDeployment(database.db, service);
    const preview = await makeDeployment(database.db, service);
    await database.db('deployments').where({ id: preview.id }).update({ branch: 'preview' });
    await insert(1, 'x', { deployment_id: main.id });
    await insert(2, 'x', { deployment_id: preview.id });
    await insert(3, 'x');
    expect(await read({ branch: 'main' })).to.deep.equal([1, 3]);
    expect(await read({ deploymentId: preview.id })).to.deep.equal([2]);
  });
});
