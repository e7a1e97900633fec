import { expect } from 'chai';
import fc from 'fast-check';
import { drawnSide, sideInCookie } from '../../../../../workers/edge/canary/visitor-side.js';

const ID = '019377aa-1111-7000-8000-0123456789ab';

describe('The side of a visitor of a canary', () => {
  it('is what the cookie of this canary says', () => {
    expect(sideInCookie('ranvier_canary=0123456789ab.new', ID)).to.equal('new');
    expect(sideInCookie('a=b; ranvier_canary=0123456789ab.previous; c=d', ID)).to.equal('previous');
  });

  it('is unknown without a cookie, and with one of another canary', () => {
    for (const cookie of [
      undefined,
      '',
      'ranvier_canary=',
      'ranvier_canary=ffffffffffff.new',
      'ranvier_canary=0123456789ab.other',
      'ranvier_canary=0123456789ab.newer',
      'xranvier_canary=0123456789ab.new',
    ]) {
      expect(sideInCookie(cookie, ID), cookie).to.equal(null);
    }
  });

  it('is drawn by lot with the share of the rule', () => {
    expect([drawnSide(1, 0), drawnSide(1, 0.01), drawnSide(99, 0.98), drawnSide(99, 0.99)]).to.deep.equal([
      'new',
      'previous',
      'new',
      'previous',
    ]);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 99 }), (percent) => {
        const draws = Array.from({ length: 1_000 }, (_, index) => drawnSide(percent, index / 1_000));
        expect(draws.filter((side) => side === 'new')).to.have.length(percent * 10);
      }),
    );
  });
});
