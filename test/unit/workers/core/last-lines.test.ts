import { expect } from 'chai';
import { LastLines } from '../../../../workers/core/last-lines.js';

describe('The last lines of a stream', () => {
  it('are the newest ones, oldest first', () => {
    const last = new LastLines(2);
    expect(last.lines).to.deep.equal([]);
    for (const line of ['a', 'b', 'c']) last.push(line);
    expect(last.lines).to.deep.equal(['b', 'c']);
  });
});
