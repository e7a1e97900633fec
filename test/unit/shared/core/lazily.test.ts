import { expect } from 'chai';
import { lazily } from '../../../../shared/core/lazily.js';

describe('A value that is made lazily', () => {
  it('is made once, with the first call', () => {
    let made = 0;
    const value = lazily(() => {
      made += 1;
      return undefined;
    });
    expect(made).to.equal(0);
    expect(value()).to.equal(undefined);
    value();
    expect(made).to.equal(1);
  });

  it('is tried again after an error', () => {
    let tries = 0;
    const value = lazily(() => {
      tries += 1;
      if (tries === 1) throw new Error('not yet');
      return tries;
    });
    expect(() => value()).to.throw('not yet');
    expect(value()).to.equal(2);
  });
});
