import { expect } from 'chai';
import { SlowLane } from '../../../../api/auth/slow-lane.js';

describe('The slow lane of an account', () => {
  it('gives turns at intervals, and refuses who would wait too long', async () => {
    const lane = new SlowLane({ intervalMs: 50, longestWaitMs: 225 });
    const begun = performance.now();
    const turns = await Promise.all(
      Array.from({ length: 8 }, async () => ({ given: await lane.turn('one'), after: performance.now() - begun })),
    );
    const given = turns.filter(({ given }) => given);
    expect(given.length).to.be.within(5, 7);
    // Timers may end a millisecond early.
    for (const [i, { after }] of given.entries()) expect(after).to.be.at.least(50 * i - 2);
  });

  it('of one account holds no other up', async () => {
    const lane = new SlowLane({ intervalMs: 60_000, longestWaitMs: 1 });
    expect(await lane.turn('one')).to.equal(true);
    expect(await lane.turn('one')).to.equal(false);
    expect(await lane.turn('another')).to.equal(true);
  });
});
