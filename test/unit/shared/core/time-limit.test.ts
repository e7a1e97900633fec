import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { withTimeLimit } from '../../../../shared/core/time-limit.js';

describe('A time limit', () => {
  const late = () => new Error('late');
  const outcome = (work: Promise<unknown>, ms: number) =>
    withTimeLimit(work, ms, late).catch((error: Error) => error.message);

  it('passes on the result or the error of work that ends before it', async () => {
    expect(await outcome(Promise.resolve(7), 60_000)).to.equal(7);
    expect(await outcome(Promise.reject(new Error('broken')), 60_000)).to.equal('broken');
  });

  it('rejects if the work takes longer, and ignores how the work ends after that', async () => {
    let fail = (_error: Error) => {};
    const work = new Promise((_, reject) => {
      fail = reject;
    });
    expect(await outcome(work, 1)).to.equal('late');
    fail(new Error('too late to matter'));
    // An error that no handler catches would end the test run here.
    await delay(1);
  });
});
