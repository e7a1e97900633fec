import { expect } from 'chai';
import { Sensitive } from '../../../../shared/core/sensitive.js';
import { Keyring, SealError } from '../../../../shared/secrets/keyring.js';
import { openFrom, SEALED, sealIn } from '../../../../shared/secrets/sealed-columns.js';

const key = (byte: number) => new Sensitive(Buffer.alloc(32, byte).toString('base64'));

describe('Sealed values', () => {
  const keyring = new Keyring(key(1));

  it('open in their own row and column only', () => {
    const sealed = sealIn(keyring, SEALED.variable, 'one', 'secret');
    expect(openFrom(keyring, SEALED.variable, 'one', sealed)).to.equal('secret');
    expect(() => openFrom(keyring, SEALED.variable, 'two', sealed), 'another row').to.throw(SealError);
    expect(() => openFrom(keyring, SEALED.snapshot, 'one', sealed), 'another column').to.throw(SealError);
  });

  it('do not open after a change of any byte', () => {
    const sealed = sealIn(keyring, SEALED.variable, 'one', 'secret');
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8((sealed.readUInt8(at) + 1) % 256, at);
      expect(() => openFrom(keyring, SEALED.variable, 'one', changed), `byte ${at}`).to.throw(SealError);
    }
  });

  it('are sealed with the first key, and opened with every key', () => {
    const rotated = new Keyring(key(2), key(1));
    const old = sealIn(keyring, SEALED.totp, 'one', 'secret');
    expect(openFrom(rotated, SEALED.totp, 'one', old)).to.equal('secret');
    const fresh = sealIn(rotated, SEALED.totp, 'one', 'secret');
    expect(() => openFrom(keyring, SEALED.totp, 'one', fresh)).to.throw(SealError, /sealed with key/);
    expect(sealIn(keyring, SEALED.totp, 'one', 'secret'), 'never the same bytes').to.not.deep.equal(old);
  });
});
