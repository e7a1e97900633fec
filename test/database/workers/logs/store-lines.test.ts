import { expect } from 'chai';
import { readLogs } from '../../../../api/resources/logs/read-lines.js';
import type { LogLine } from '../../../../shared/logs/model.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { insertLogBatches } from '../../../../workers/logs/batch-store.js';
import { ingestLogs } from '../../../../workers/logs/ingest-batches.js';
import { storeLines } from '../../../../workers/logs/store-lines.js';
import { makeService } from '../../../support/factories.js';
import { failureOf } from '../../../support/outcomes.js';
import { useTestDatabase } from '../../../support/postgres.js';

describe('Lines that are stored at once', () => {
  const database = useTestDatabase();
  let service: ServiceRow;
  beforeEach(async () => {
    service = await makeService(database.db);
  });

  const lineOf = (message: string): LogLine => ({ level: 'info', message, timestamp: new Date().toISOString() });
  const batchOf = (messages: string[]) => ({
    serviceId: service.id,
    deploymentId: null,
    source: 'runtime' as const,
    lines: messages.map(lineOf),
  });
  const stored = (): Promise<{ id: number; message: string }[]> =>
    database.db('log_lines').where({ service_id: service.id }).orderBy('id').select('id', 'message');
  const waiting = (): Promise<unknown[]> => database.db('log_batches').where({ service_id: service.id });

  it('have the ids from one on, in their order, and no batch', async () => {
    const odd = ['a', '', '{"b"}', 'c\\,"d"', 'NULL', 'e\0f', '\ud83d', '\u{1f600}\n'];
    expect(await storeLines(database.db, batchOf(odd))).to.equal(true);
    expect(await storeLines(database.db, batchOf(['last']))).to.equal(true);
    const kept = [...odd.slice(0, 5), 'e\ufffdf', '\ufffd', '\u{1f600}\n', 'last'];
    expect(await stored()).to.deep.equal(kept.map((message, i) => ({ id: i + 1, message })));
    expect(await waiting()).to.deep.equal([]);
  });

  it('wait behind batches that wait', async () => {
    await storeLines(database.db, batchOf(['first']));
    await insertLogBatches(database.db, [batchOf(['second'])]);
    expect(await storeLines(database.db, batchOf(['third']))).to.equal(false);
    expect((await stored()).map(({ message }) => message)).to.deep.equal(['first']);
    await ingestLogs(database.db, service.id);
    expect(await storeLines(database.db, batchOf(['fourth']))).to.equal(true);
    expect((await stored()).map(({ message }) => message)).to.deep.equal(['first', 'second', 'third', 'fourth']);
  });

  it('leave no gap if a transaction fails', async () => {
    await storeLines(database.db, batchOf(['first']));
    const failed = database.db.transaction(async (trx) => {
      await storeLines(trx, batchOf(['lost', 'too']));
      throw new Error('the worker has lost its record');
    });
    await failed.catch(() => undefined);
    await storeLines(database.db, batchOf(['second']));
    expect((await stored()).map(({ id, message }) => [id, message])).to.deep.equal([
      [1, 'first'],
      [2, 'second'],
    ]);
  });

  it('are all stored or none, also if they need several statements', async () => {
    const many = batchOf(Array.from({ length: 1001 }, (_, number) => `${number}`));
    for (const line of many.lines.slice(-1)) line.timestamp = 'no time';
    expect((await failureOf(storeLines(database.db, many))).message).to.include('no time');
    expect(await stored()).to.deep.equal([]);
  });

  it('of several writers have each id once and no gap, keep each writer’s order, and a reader misses none', async () => {
    const writers = 4;
    const batches = 25;
    const write = async (writer: number) => {
      for (let i = 0; i < batches; i++) {
        const messages = Array.from({ length: 1 + (i % 7) }, (_, n) => `${writer} ${i * 10 + n}`);
        // One writer is of a version that stores batches.
        if (writer === 0) {
          await insertLogBatches(database.db, [batchOf(messages)]);
          await ingestLogs(database.db, service.id);
        } else await database.db.transaction((trx) => storeLines(trx, batchOf(messages)));
      }
    };
    let writing = true;
    const seen: { id: number; message: string }[] = [];
    const follow = async () => {
      for (let last = false; !last; ) {
        last = !writing;
        const after = seen.at(-1)?.id ?? 0;
        seen.push(...(await readLogs(database.db, { serviceId: service.id, hours: 1, after, limit: 500 })).lines);
      }
    };
    const following = follow();
    await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
    await ingestLogs(database.db, service.id);
    writing = false;
    await following;
    const lines = await stored();
    expect(lines.map(({ id }) => id)).to.deep.equal(lines.map((_, i) => i + 1));
    expect(seen.map(({ id }) => id)).to.deep.equal(lines.map(({ id }) => id));
    for (let writer = 0; writer < writers; writer++) {
      const mine = lines.filter(({ message }) => message.startsWith(`${writer} `)).map(({ message }) => message);
      const places = mine.map((message) => Number(message.split(' ')[1]));
      expect(places, `writer ${writer}`).to.deep.equal([...places].sort((a, b) => a - b));
      expect(places.length).to.equal(Array.from({ length: batches }, (_, i) => 1 + (i % 7)).reduce((a, b) => a + b));
    }
  });

  it('are found by a search in steps, back from the newest and on from a cursor', async () => {
    await database.db.raw(
      `insert into log_lines (service_id, id, source, level, message, logged_at)
       select :id, n, 'runtime', 'info', case when n % 40000 = 1 then 'Needle' else 'hay' end, now()
         from generate_series(1, 120000) n`,
      { id: service.id },
    );
    const query = { serviceId: service.id, hours: 1, search: 'needle', limit: 500 };
    const needles: number[] = [];
    for (let before: number | undefined; ; ) {
      const batch = await readLogs(database.db, { ...query, before });
      needles.unshift(...batch.lines.map(({ id }) => id));
      if (batch.unsearchedBefore === null) break;
      before = batch.unsearchedBefore;
    }
    expect(needles, 'back').to.deep.equal([1, 40_001, 80_001]);
    const later: number[] = [];
    for (let after = 0; ; ) {
      const batch = await readLogs(database.db, { ...query, after, limit: 2 });
      later.push(...batch.lines.map(({ id }) => id));
      expect(batch.cursor).to.be.at.least(after);
      if (!batch.hasMore) break;
      after = batch.cursor;
    }
    expect(later, 'on').to.deep.equal([1, 40_001, 80_001]);
    const { lines } = await readLogs(database.db, { ...query, limit: 2 });
    expect(
      lines.map(({ id }) => id),
      'the newest',
    ).to.deep.equal([40_001, 80_001]);
    const earlier = await readLogs(database.db, { serviceId: service.id, hours: 1, before: 100, limit: 3 });
    expect(earlier.lines.map(({ id }) => id)).to.deep.equal([97, 98, 99]);
  });
});
