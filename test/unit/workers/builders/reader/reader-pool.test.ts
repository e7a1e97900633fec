import { expect } from 'chai';
import { patienceLeft } from '../../../../../workers/builders/reader/reader-pool.js';

describe('A request that waits for a reading process', () => {
  it('waits as long as processes answer', () => {
    expect(patienceLeft({ waitedMs: 100, quietMs: 30 })).to.equal(70);
    expect(patienceLeft({ waitedMs: 800, quietMs: 0.5 })).to.equal(100);
  });

  it('gets a process of its own if none has answered for long, or if it has waited for long', () => {
    expect(patienceLeft({ waitedMs: 100, quietMs: 100 })).to.equal(0);
    expect(patienceLeft({ waitedMs: 960, quietMs: 10 })).to.equal(40);
    expect(patienceLeft({ waitedMs: 1000, quietMs: 1 })).to.equal(0);
  });
});
