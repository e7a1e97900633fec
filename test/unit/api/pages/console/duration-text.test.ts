import { expect } from 'chai';
import { agoText, durationText } from '../../../../../api/pages/console/ui/duration-text.js';

describe('A duration in the console', () => {
  it('is rounded before its unit is chosen, so that no part of it reaches the next unit', () => {
    const texts = {
      '-5': '0.0 s',
      400: '0.4 s',
      9940: '9.9 s',
      9970: '10 s',
      59400: '59 s',
      59700: '1 min 0 s',
      185000: '3 min 5 s',
      239700: '4 min 0 s',
      3599700: '1 h 0 min',
      7500000: '2 h 5 min',
    };
    expect(Object.keys(texts).map((milliseconds) => durationText(Number(milliseconds)))).to.deep.equal(
      Object.values(texts),
    );
  });
});

describe('A time relative to now in the console', () => {
  it('is rounded before its unit is chosen', () => {
    const [minute, hour, day] = [60, 3600, 86_400];
    const texts: [seconds: number, text: string][] = [
      [-3, 'just now'],
      [20, 'in a moment'],
      [-59.7, '1 min. ago'],
      [-59.4 * minute, '59 min. ago'],
      [-59.6 * minute, '1 hr. ago'],
      [59.6 * minute, 'in 1 hr.'],
      [-23.4 * hour, '23 hr. ago'],
      [-23.6 * hour, 'yesterday'],
      [-29.6 * day, 'last mo.'],
      [-340 * day, '11 mo. ago'],
      [-350 * day, 'last yr.'],
    ];
    for (const [seconds, text] of texts) expect(agoText(seconds), String(seconds)).to.equal(text);
  });
});
