import { expect } from 'chai';
import { Sensitive } from '../../../../shared/core/sensitive.js';
import { newFetchToken, serviceOfFetchToken } from '../../../../shared/secrets/internal-token.js';
import { Keyring } from '../../../../shared/secrets/keyring.js';

const key = (fill: number) => new Sensitive(Buffer.alloc(32, fill).toString('base64'));

describe('The token with which a worker fetches a pushed repository', () => {
  const keyring = new Keyring(key(1));

  it('names its service for a quarter of an hour', () => {
    const token = newFetchToken(keyring, 'service', 1000);
    expect(serviceOfFetchToken(keyring, token, 1000)).to.equal('service');
    expect(serviceOfFetchToken(keyring, token, 1000 + 15 * 60_000 - 1)).to.equal('service');
    expect(serviceOfFetchToken(keyring, token, 1000 + 15 * 60_000)).to.equal(null);
  });

  it('opens while keys are rotated, and with no other key', () => {
    const token = newFetchToken(keyring, 'service', 0);
    expect(serviceOfFetchToken(new Keyring(key(2), key(1)), token, 0)).to.equal('service');
    expect(serviceOfFetchToken(new Keyring(key(2)), token, 0)).to.equal(null);
  });

  it('cannot be made of another sealed value, or changed', () => {
    const foreign = keyring.seal(JSON.stringify({ serviceId: 'service', until: 1e15 }), 'variable:1');
    expect(serviceOfFetchToken(keyring, foreign.toString('base64url'), 0)).to.equal(null);
    const token = newFetchToken(keyring, 'service', 0);
    expect(serviceOfFetchToken(keyring, `${token.slice(0, -2)}AA`, 0)).to.equal(null);
    expect(serviceOfFetchToken(keyring, '', 0)).to.equal(null);
  });
});
