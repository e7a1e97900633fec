import { expect } from 'chai';
import fc from 'fast-check';
import { lineBatch, type WaitingLines } from '../../../../workers/drains/line-batch.js';

const MAX_BYTES = 100_000;

function waiting(serviceId: string, sentId: number, lastId: number, ids: readonly number[], bytes = 10): WaitingLines {
  const lines = ids.map((id) => ({ service_id: serviceId, id, message: 'x'.repeat(bytes) }));
  return { serviceId, sentId, lastId, lines: lines as WaitingLines['lines'] };
}

describe('A batch of log lines', () => {
  it('is everything that waits, if it fits', () => {
    const batch = lineBatch([waiting('a', 0, 2, [1, 2]), waiting('b', 7, 8, [8])], MAX_BYTES);
    expect(batch.lines.map(({ service_id, id }) => `${service_id}${id}`)).to.deep.equal(['a1', 'a2', 'b8']);
    expect([...batch.positions]).to.deep.equal([
      ['a', 2],
      ['b', 8],
    ]);
    expect(batch).to.include({ lost: 0, more: false });
  });

  it('gives each service its share, and at least one line', () => {
    const batch = lineBatch([waiting('a', 0, 9, [1, 2, 3], 30_000), waiting('b', 0, 2, [1, 2], 90_000)], MAX_BYTES);
    expect([...batch.positions]).to.deep.equal([
      ['a', 1],
      ['b', 1],
    ]);
    expect(batch).to.include({ lost: 0, more: true });
  });

  it('counts the lines that retention has deleted', () => {
    expect(lineBatch([waiting('a', 2, 9, [6, 7, 9])], MAX_BYTES)).to.include({ lost: 4, more: false });
    const gone = lineBatch([waiting('a', 2, 9, [])], MAX_BYTES);
    expect([...gone.positions]).to.deep.equal([['a', 9]]);
    expect(gone).to.include({ lost: 7, more: false });
  });

  it('batch after batch sends or counts each line exactly once', () => {
    const stored = fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { maxLength: 60 });
    fc.assert(
      fc.property(
        stored,
        fc.integer({ min: 1, max: 5_000 }),
        fc.integer({ min: 1, max: 20 }),
        (given, maxBytes, limit) => {
          const ids = given.sort((a, b) => a - b);
          const sent: number[] = [];
          let lost = 0;
          for (let position = 0; position < 60; ) {
            const next = ids.filter((id) => id > position).slice(0, limit);
            const batch = lineBatch([waiting('a', position, 60, next)], maxBytes);
            sent.push(...batch.lines.map(({ id }) => id));
            lost += batch.lost;
            const reached = batch.positions.get('a') ?? 0;
            if (reached <= position) return false;
            position = reached;
          }
          return JSON.stringify(sent) === JSON.stringify(ids) && lost === 60 - ids.length;
        },
      ),
    );
  });
});
