import { expect } from 'chai';
import { errorMessage } from '../../../../shared/core/error-registry.js';

describe('The text of an error', () => {
  it('is bounded, whatever a server of a tenant answers', () => {
    expect(errorMessage(new Error('x'.repeat(1_000_000)))).to.have.length.lessThan(11_000);
    expect(errorMessage('x'.repeat(1_000_000))).to.have.length.lessThan(11_000);
  });

  it('has no NUL, which PostgreSQL would refuse to store', () => {
    expect(errorMessage(new Error('-ERR a\0b'))).to.equal('-ERR a\ufffdb');
  });

  it('is otherwise the one that the error has', () => {
    expect(errorMessage(new Error('the disk is full'))).to.equal('the disk is full');
  });
});
