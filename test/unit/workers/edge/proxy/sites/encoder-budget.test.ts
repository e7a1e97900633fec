import { expect } from 'chai';
import { EncoderBudget } from '../../../../../../workers/edge/proxy/sites/encoder-budget.js';

describe('The budget of encoders', () => {
  it('has 16 for a client, and one more when one is given back', () => {
    const budget = new EncoderBudget();
    const taken = Array.from({ length: 16 }, () => budget.take('a'));
    expect(taken).to.not.include(null);
    expect(budget.take('a')).to.equal(null);
    expect(budget.take('b')).to.not.equal(null);
    taken[0]?.();
    taken[0]?.();
    expect(budget.take('a')).to.not.equal(null);
    expect(budget.take('a')).to.equal(null);
  });

  it('has 64 for all', () => {
    const budget = new EncoderBudget();
    const taken = Array.from({ length: 64 }, (_, i) => budget.take(`client ${i}`));
    expect(taken).to.not.include(null);
    expect(budget.take('another')).to.equal(null);
    taken[3]?.();
    expect(budget.take('another')).to.not.equal(null);
  });
});
