import { expect } from 'chai';
import { nextWaitMs } from '../../../../../workers/runtime/process/replica-output.js';

describe('The wait before output is copied', () => {
  it('is short after a pause and grows while output goes on', () => {
    expect(nextWaitMs(10_000, 8)).to.equal(8);
    expect([8, 16, 32, 64, 128, 250].map((waitMs) => nextWaitMs(0, waitMs))).to.deep.equal([16, 32, 64, 128, 250, 250]);
    expect(nextWaitMs(501, 250)).to.equal(8);
  });
});
