import { expect } from 'chai';
import pg from 'pg';
import {
  prepare,
  rowOfPrepared,
  rowOfShared,
  rowsOfBatch,
  rowsOfPrepared,
} from '../../../../../shared/core/database/prepared.js';
import { runPrepared } from '../../../../../shared/core/database/prepared-query.js';
import { useTestDatabase } from '../../../../support/postgres.js';
import { eventually } from '../../../../support/processes.js';

const TYPES = prepare(
  `select $1::int as number, null::text as nothing, 9007199254740991::bigint as large, '{"a":[1]}'::jsonb as json,
          '2026-11-22 10:00:00.5+00'::timestamptz as time, array['x','y'] as list, true as truth, '\\x0102'::bytea as bytes`,
);
const TYPED = {
  nothing: null,
  large: 9007199254740991,
  json: { a: [1] },
  time: new Date('2026-11-22T10:00:00.500Z'),
  list: ['x', 'y'],
  truth: true,
  bytes: Buffer.from([1, 2]),
};
const ROWS = prepare<{ n: number }>('select n from generate_series(1, $1::int) n');
const INSERT = prepare('insert into repairs (sweep, count) values ($1, 1)');
const DIVIDE = prepare<{ result: number }>('select 100 / $1::int as result');
const BACKEND = prepare<{ pid: number; n: number }>('select pg_backend_pid() as pid, $1::int as n');
const ENDED = prepare('select pg_terminate_backend(pg_backend_pid())');

describe('A prepared statement', () => {
  const database = useTestDatabase();

  it('ends the time limit of its answer, which would end the connection later', async () => {
    const client = new pg.Client({ connectionString: database.url, query_timeout: 600_000 });
    await client.connect();
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    expect(await runPrepared(client, { name: 'one', text: 'select 1 as n' }, [])).to.deep.equal([{ n: 1 }]);
    await eventually('no timer is left', () => timers() <= before, 5_000);
    await client.end();
  });

  it('gives the values of each type, in its first run and in later ones', async () => {
    await database.db.transaction(async (trx) => {
      for (const number of [1, 2, 3]) {
        expect(await rowOfPrepared(trx, TYPES, [number])).to.deep.equal({ number, ...TYPED });
      }
      expect(await rowsOfPrepared(trx, ROWS, [3])).to.deep.equal([{ n: 1 }, { n: 2 }, { n: 3 }]);
      expect(await rowsOfPrepared(trx, ROWS, [0])).to.deep.equal([]);
    });
  });

  it('is described once on each connection', async () => {
    await database.db.transaction(async (trx) => {
      const connection: { connection: pg.Connection } = await trx.client.acquireConnection();
      let descriptions = 0;
      connection.connection.on('rowDescription', () => {
        descriptions += 1;
      });
      const statement = prepare<{ once: number }>('select $1::int as once');
      for (const once of [1, 2, 3]) expect(await rowOfPrepared(trx, statement, [once])).to.deep.equal({ once });
      expect(descriptions).to.equal(1);
    });
  });

  it('may return no rows at all', async () => {
    await database.db.transaction(async (trx) => {
      for (const sweep of ['a', 'b']) expect(await rowsOfPrepared(trx, INSERT, [sweep])).to.deep.equal([]);
      expect(await trx('repairs').whereIn('sweep', ['a', 'b'])).to.have.length(2);
    });
  });

  it('that fails throws with its SQLSTATE and the stack of its caller, and works the next time', async () => {
    const { db } = database;
    for (const read of [rowOfPrepared, rowOfShared]) {
      const error = await read(db, DIVIDE, [0]).catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(Error).with.property('code', '22012');
      expect((error as Error).stack).to.contain('prepared.test');
      expect(await read(db, DIVIDE, [5])).to.deep.equal({ result: 20 });
    }
  });

  it('of one request does not see the rows or the failure of another that shares its connection', async () => {
    const { db } = database;
    const reads = Array.from({ length: 40 }, (_, n) =>
      n % 10 === 9 ? rowOfShared(db, DIVIDE, [0]).catch(() => 'failed') : rowOfShared(db, BACKEND, [n]),
    );
    const answers = await Promise.all(reads);
    const pids = new Set<number>();
    for (const [n, answer] of answers.entries()) {
      if (n % 10 === 9) expect(answer).to.equal('failed');
      else {
        expect(answer).to.have.property('n', n);
        pids.add((answer as { pid: number }).pid);
      }
    }
    expect(pids.size).to.be.at.most(2);
  });

  it('that shares a lost connection fails, and the next one has another connection', async () => {
    const { db } = database;
    const lost = await Promise.allSettled([rowOfShared(db, ENDED, []), rowOfShared(db, ENDED, [])]);
    expect(lost.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected']);
    expect(await rowOfShared(db, BACKEND, [1])).to.have.property('n', 1);
  });

  describe('of a batch', () => {
    const REPAIR = prepare<never>(
      `insert into repairs as r (sweep, count) values ('batch', 1) on conflict (sweep) do update set count = r.count + 1`,
    );
    const REPAIRS = prepare<{ count: number }>(
      `select coalesce(sum(count), 0)::int as count from repairs where sweep = 'batch'`,
    );
    const NUMBERS = prepare<{ n: number }>('select n from generate_series(1, 2) n');
    const FAILING = prepare<{ result: number }>('select 1 / (count(*) - count(*)) as result from repairs');
    beforeEach(() => database.db('repairs').where({ sweep: 'batch' }).delete());

    it('sees what those before it have written, and each has its rows', async () => {
      for (const count of [1, 2]) {
        const rows = await rowsOfBatch(database.db, [REPAIR, REPAIRS, NUMBERS]);
        expect(rows).to.deep.equal([[], [{ count }], [{ n: 1 }, { n: 2 }]]);
      }
    });

    it('sees what was committed while one before it waited', async () => {
      const { db } = database;
      const LOCK = prepare<unknown>('select pg_advisory_xact_lock(4711)');
      const other = await db.transaction();
      await other.raw('select pg_advisory_xact_lock(4711)');
      const batch = rowsOfBatch(db, [LOCK, REPAIRS]);
      await eventually(
        'it waits',
        async () => (await db('pg_locks').where({ granted: false, locktype: 'advisory' })).length > 0,
      );
      await other('repairs').insert({ sweep: 'batch', count: 1 });
      await other.commit();
      expect((await batch)[1]).to.deep.equal([{ count: 1 }]);
    });

    it('writes nothing if one fails, and all work the next time', async () => {
      const { db } = database;
      await db.transaction(async (trx) => {
        // A transaction has one connection, and PostgreSQL never parsed the statement after the failing one on it.
        const failed = await trx
          .transaction((inner) => rowsOfBatch(inner, [REPAIR, FAILING, NUMBERS]))
          .catch((thrown: unknown) => thrown);
        expect(failed).to.have.property('code', '22012');
        expect(await rowsOfBatch(trx, [NUMBERS, REPAIRS])).to.deep.equal([[{ n: 1 }, { n: 2 }], [{ count: 0 }]]);
      });
      const error = await rowsOfBatch(db, [REPAIR, FAILING]).catch((thrown: unknown) => thrown);
      expect((error as Error).stack).to.contain('prepared.test');
      expect(await rowsOfBatch(db, [REPAIRS])).to.deep.equal([[{ count: 0 }]]);
    });
  });
});
