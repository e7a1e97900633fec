import { expect } from 'chai';
import { durationText } from '../../../../../api/pages/console/ui/duration-text.js';

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
