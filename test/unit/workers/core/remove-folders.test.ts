import { expect } from 'chai';
import { isUnused, nextRetry, type Retry } from '../../../../workers/core/remove-folders.js';

const DAY = 24 * 60 * 60_000;
const MINUTE = 60_000;

describe('Caches and mirrors', () => {
  it('are unused after thirty days, and not before', () => {
    expect(isUnused(0, 30 * DAY)).to.equal(true);
    expect(isUnused(0, 30 * DAY - 1)).to.equal(false);
    expect(isUnused(5, 0), 'a clock that was set back').to.equal(false);
  });
});

describe('The trash', () => {
  it('tries an entry again after 5 minutes, then twice as late each time, up to an hour', () => {
    const pauses: number[] = [];
    let retry: Retry | undefined;
    for (let i = 0; i < 6; i++) {
      retry = nextRetry(retry, 1000);
      pauses.push((retry.at - 1000) / MINUTE);
    }
    expect(pauses).to.deep.equal([5, 10, 20, 40, 60, 60]);
    expect(retry?.failures).to.equal(6);
  });
});
