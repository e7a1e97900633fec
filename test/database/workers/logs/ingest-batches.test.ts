import { expect } from 'chai';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { insertLogBatches, oldestBatch } from '../../../../workers/logs/batch-store.js';
import { ingestLogs, ingestTurn } from '../../../../workers/logs/ingest-batches.js';
import { makeService } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { updateRow } from '../../../support/records.js';

const NOW = '2026-11-21T12:00:00.000Z';

describe('Log batches', () => {
  const database = useTestDatabase();
  let service: ServiceRow;

  beforeEach(async () => {
    service = await makeService(database.db);
  });

  function insert(messages: string[], timestamps: Record<number, string> = {}): Promise<string> {
    const lines = messages.map((message, i) => ({ level: 'info' as const, message, timestamp: timestamps[i] ?? NOW }));
    return insertLogBatches(database.db, [{ serviceId: service.id, deploymentId: null, source: 'runtime', lines }]);
  }

  /** Ingests until no batch waits, because a busy machine may need several turns. */
  async function ingestAll(): Promise<{ lines: number; leftOut: number }> {
    const sum = { lines: 0, leftOut: 0 };
    for (let more = true; more; ) {
      const turn = await ingestTurn(database.db, service.id);
      sum.lines += turn.lines;
      sum.leftOut += turn.leftOut;
      more = turn.more;
    }
    return sum;
  }

  async function stored(): Promise<{ id: number; level: string; message: string }[]> {
    return database.db('log_lines').where({ service_id: service.id }).orderBy('id').select('id', 'level', 'message');
  }

  async function batches(): Promise<{ lines: number; bytes: number }[]> {
    return database
      .db('log_batches')
      .where({ service_id: service.id })
      .select(database.db.raw('jsonb_array_length(lines) as lines, octet_length(lines::text) as bytes'));
  }

  it('become several rows of bounded lines and bytes, and keep their order', async () => {
    await insert(Array.from({ length: 3500 }, (_, i) => String(i)));
    await insert(Array.from({ length: 100 }, (_, i) => String(3500 + i).padEnd(16_384, 'x')));
    const rows = await batches();
    expect(rows.length).to.be.greaterThan(6);
    expect(Math.max(...rows.map((row) => row.lines))).to.be.at.most(1000);
    expect(Math.max(...rows.map((row) => row.bytes))).to.be.below(1024 * 1024);
    await ingestLogs(database.db, service.id);
    const lines = await stored();
    expect(lines.map((line) => [line.id, Number.parseInt(line.message, 10)])).to.deep.equal(
      Array.from({ length: 3600 }, (_, i) => [i + 1, i]),
    );
  });

  it('hold no NUL and no half of a surrogate pair', async () => {
    await insert(['a\0b', 'c\ud83dd', 'e\udc00f', '\u{1f600}']);
    await ingestLogs(database.db, service.id);
    expect((await stored()).map((line) => line.message)).to.deep.equal([
      'a\ufffdb',
      'c\ufffdd',
      'e\ufffdf',
      '\u{1f600}',
    ]);
  });

  it('of which the database refuses a line lose that line only, and the log says so', async () => {
    await insert(['before']);
    await insert(['one', 'two', 'poison', 'four', 'five'], { 2: 'no time' });
    await insert(['after']);
    expect(await ingestAll()).to.deep.equal({ lines: 7, leftOut: 1 });
    const lines = await stored();
    expect(lines.map((line) => line.id)).to.deep.equal([1, 2, 3, 4, 5, 6, 7]);
    expect(lines.map((line) => line.message)).to.have.ordered.members([
      'before',
      'one',
      'two',
      lines[3]?.message,
      'four',
      'five',
      'after',
    ]);
    expect(lines[3]).to.include({ level: 'warn' });
    expect(lines[3]?.message).to.match(/^A line could not be stored and is left out here \(.*no time/);
    expect(await batches()).to.deep.equal([]);
  });

  it('of which the database refuses everything are gone after a bounded number of tries', async () => {
    const poison = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [i, 'no time']));
    await insert(new Array(1000).fill('x'), poison);
    await insert(['after']);
    expect((await ingestAll()).leftOut).to.equal(1000);
    const lines = await stored();
    expect(lines.length).to.be.below(100);
    expect(lines.at(-1)?.message).to.equal('after');
  });

  it('that are no lists are left out as a whole', async () => {
    const id = await insert(['x']);
    await updateRow(database.db, 'log_batches', id, { lines: JSON.stringify({ no: 'list' }) });
    await insert(['after']);
    await ingestAll();
    expect((await stored()).map((line) => line.message)).to.deep.equal([
      'A batch of lines could not be stored and is left out here (it is not a list)',
      'after',
    ]);
  });

  it('of one service are moved in turns, and a second mover leaves them to the first', async () => {
    const many = new Array(1000).fill('x');
    for (let i = 0; i < 120; i++) await insert(many);
    const first = await ingestTurn(database.db, service.id);
    expect(first.lines).to.be.greaterThan(0);
    await database.db.transaction(async (trx) => {
      await trx('log_counters').where({ service_id: service.id }).forUpdate().first();
      expect(await ingestTurn(database.db, service.id)).to.deep.equal({ lines: 0, leftOut: 0, more: false });
    });
    let turn = first;
    while (turn.more) turn = await ingestTurn(database.db, service.id);
    expect(await oldestBatch(database.db, service.id)).to.equal(undefined);
    const lines = await stored();
    expect(lines.length).to.equal(120_000);
    expect(lines.at(-1)?.id).to.equal(120_000);
  });
});
