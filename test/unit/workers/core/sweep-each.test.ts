import { expect } from 'chai';
import { sweepEach } from '../../../../workers/core/sweep-each.js';

describe('A sweep of several items', () => {
  it('logs the one that fails, and goes on with the others', async () => {
    const logged: unknown[] = [];
    const log = { warn: (...line: unknown[]) => void logged.push(line) };
    const failed = new Error('no answer');
    const lines = await sweepEach(
      ['a', 'b', 'c'],
      { log, atOnce: 1, failure: 'it was not mended', facts: (id) => ({ id }) },
      async (id) => {
        if (id === 'a') throw failed;
        return [`mended ${id}`];
      },
    );
    expect(lines).to.deep.equal(['mended b', 'mended c']);
    expect(logged).to.deep.equal([[{ id: 'a', err: failed }, 'it was not mended: no answer']]);
  });
});
