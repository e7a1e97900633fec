import { expect } from 'chai';
import { Sensitive } from '../../../../shared/core/sensitive.js';
import { Keyring, SEAL_OVERHEAD_BYTES, SealError } from '../../../../shared/secrets/keyring.js';

const key = (byte: number, length = 32) => new Sensitive(Buffer.alloc(length, byte).toString('base64'));

describe('A keyring', () => {
  const keyring = new Keyring(key(1));

  it('takes keys of exactly 32 bytes', () => {
    for (const length of [0, 16, 31, 33, 64]) {
      expect(() => new Keyring(key(1, length)), `${length}`).to.throw(SealError, '32 bytes');
      expect(() => new Keyring(key(1), key(2, length)), `an older one of ${length}`).to.throw(SealError);
    }
  });

  it('seals the same text differently each time, with a constant overhead', () => {
    const sealed = Array.from({ length: 50 }, () => keyring.seal('secret', 'a').toString('hex'));
    expect(new Set(sealed).size).to.equal(50);
    // Two values under one nonce would reveal the key of their authentication.
    const nonces = new Set(sealed.map((text) => text.slice(10, 34)));
    expect(nonces.size).to.equal(50);
    expect(keyring.seal('é', 'a')).to.have.length(SEAL_OVERHEAD_BYTES + 2);
  });

  it('has fingerprints that are equal for equal texts of one context under one key only', () => {
    const print = (text: string, context: string, of = keyring) => of.fingerprint(text, context).toString('hex');
    expect(print('a', 'x')).to.equal(print('a', 'x')).and.have.length(64);
    expect(print('a', 'x')).to.not.equal(print('b', 'x'));
    expect(print('a', 'x')).to.not.equal(print('a', 'y'));
    expect(print('a', 'x')).to.not.equal(print('a', 'x', new Keyring(key(2))));
    expect(print('bc', 'a')).to.not.equal(print('c', 'ab'));
  });

  it('does not open what is too short or of another version', () => {
    const sealed = keyring.seal('', 'a');
    expect(keyring.open(sealed, 'a')).to.equal('');
    expect(() => keyring.open(sealed.subarray(0, -1), 'a')).to.throw(SealError, 'no known format');
    expect(() => keyring.open(Buffer.alloc(0), 'a')).to.throw(SealError, 'no known format');
  });
});
