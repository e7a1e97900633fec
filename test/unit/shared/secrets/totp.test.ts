import { expect } from 'chai';
import { Secret, TOTP } from 'otpauth';
import { newTotpSecret, totpCounter, totpUri } from '../../../../shared/secrets/totp.js';

const STEP_MS = 30_000;

describe('A one-time code', () => {
  const secret = newTotpSecret();
  const now = new Date('2026-01-01T00:00:10Z');
  const codeAt = (steps: number) =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: now.getTime() + steps * STEP_MS });
  const step = Math.floor(now.getTime() / STEP_MS);

  it('is good in its own step and in the two beside it, and tells its step', () => {
    expect(totpCounter(secret, codeAt(0), now)).to.equal(step);
    expect(totpCounter(secret, codeAt(-1), now)).to.equal(step - 1);
    expect(totpCounter(secret, codeAt(1), now)).to.equal(step + 1);
  });

  it('is no longer or not yet good in any other', () => {
    for (const steps of [-20, -10, -3, -2, 2, 3, 10]) {
      expect(totpCounter(secret, codeAt(steps), now), `${steps}`).to.equal(null);
    }
  });

  it('is one of this secret, and of six digits', () => {
    const other = new TOTP({ secret: Secret.fromBase32(newTotpSecret()) }).generate({ timestamp: now.getTime() });
    for (const wrong of [other, '', '12345', `${codeAt(0)}0`]) expect(totpCounter(secret, wrong, now)).to.equal(null);
  });

  it('comes from an authenticator that reads the address', () => {
    expect(totpUri(secret, 'a@example.org')).to.match(/^otpauth:\/\/totp\/Ranvier:a(@|%40)example\.org\?.*secret=/);
  });
});
