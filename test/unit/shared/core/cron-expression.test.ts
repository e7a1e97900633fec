import { expect } from 'chai';
import { isSchedule } from '../../../../shared/core/cron-expression.js';

const NOW = new Date('2026-03-01T00:00:00Z');

describe('Schedules', () => {
  for (const text of ['0 * * * *', '*/5 1-3 1,15 * MON-FRI', ' 0  0 29 2 * ', '59 23 31 12 7', '0 0 L * *']) {
    it(`${JSON.stringify(text)} is one`, () => expect(isSchedule(text, NOW)).to.equal(true));
  }

  for (const text of [
    ...['', '* * * *', '* * * * * *', '@daily', '60 * * * *', '0-99999999 * * * *', '*/0 * * * *', '1e9 * * * *'],
    ...['0 0 30 2 *', '0 0 31 2,4,6,9,11 *', '0\t0 * * *', '0 0 *\n* *', `${'0,'.repeat(124)}0 * * * *`, '٣ * * * *'],
  ]) {
    it(`${JSON.stringify(text.slice(0, 40))} is none`, () => expect(isSchedule(text, NOW)).to.equal(false));
  }

  it('need a tick within five years of the day they are given', () => {
    // The next 29 February that is a Thursday is in 2052, the last was in 2024.
    expect(isSchedule('0 0 29 2 +4', new Date('2023-06-01T00:00:00Z'))).to.equal(true);
    expect(isSchedule('0 0 29 2 +4', NOW)).to.equal(false);
  });
});
