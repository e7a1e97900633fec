import { join } from 'node:path';
import { expect } from 'chai';
import { compiledWith } from './fault.js';
import { FAULTS } from './faults.js';

const DIST = join(import.meta.dirname, '../..');

/** `npm run mutate` does not run this test, which would notice every fault. */
describe('The faults of npm run mutate', () => {
  it('match the code', async () => {
    const stale: string[] = [];
    for (const fault of FAULTS) {
      if ((await compiledWith(fault, DIST)).faulty === null) stale.push(fault.name);
    }
    expect(stale).to.deep.equal([]);
  });
});
