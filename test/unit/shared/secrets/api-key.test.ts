import { expect } from 'chai';
import { matches, newApiKey, parseApiKey } from '../../../../shared/secrets/api-key.js';

describe('API keys', () => {
  it('carry the fixed prefix, a lookup and a secret that is stored only as a digest', () => {
    const { key, lookup, secretHash } = newApiKey();
    expect(key).to.match(/^rnv_[0-9a-f]{16}_[A-Za-z0-9_-]{43}$/);
    const parsed = parseApiKey(key);
    expect(parsed?.lookup).to.equal(lookup);
    expect(secretHash).to.have.length(32);
    expect(matches(parsed?.secret ?? '', secretHash)).to.equal(true);
  });

  it('another secret does not match', () => {
    const [mine, other] = [newApiKey(), newApiKey()];
    expect(matches(parseApiKey(other.key)?.secret ?? '', mine.secretHash)).to.equal(false);
    expect(matches('', mine.secretHash)).to.equal(false);
    expect(matches('x', Buffer.alloc(0))).to.equal(false);
  });

  it('text that is no key is not parsed', () => {
    const { key } = newApiKey();
    for (const text of ['', 'rnv_', key.slice(0, -1), `${key}x`, ` ${key}`, key.replace('rnv_', 'abc_'), `${key}\n`]) {
      expect(parseApiKey(text), JSON.stringify(text)).to.equal(null);
    }
  });
});
