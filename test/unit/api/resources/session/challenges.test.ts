import { expect } from 'chai';
import { Challenges } from '../../../../../api/resources/session/passkeys/challenges.js';

const NOW = 1_800_000_000_000;

describe('A challenge for a passkey', () => {
  const challenges = new Challenges(Buffer.alloc(32, 7));
  const text = (subject: string) => challenges.create(subject, NOW).toString('base64url');

  it('is valid for its subject, for five minutes', () => {
    const challenge = text('ada');
    expect(challenges.isValid('ada', challenge, NOW)).to.equal(true);
    expect(challenges.isValid('ada', challenge, NOW + 299_999)).to.equal(true);
    expect(challenges.isValid('ada', challenge, NOW + 300_000)).to.equal(false);
    expect(challenges.isValid('ada', challenge, NOW - 1)).to.equal(false);
    expect(challenges.isValid('', challenge, NOW)).to.equal(false);
    expect(text('ada')).not.to.equal(challenge);
  });

  it('is refused if it is changed, cut, or of another installation', () => {
    const challenge = text('');
    const changed = Buffer.from(challenge, 'base64url');
    changed[10] = (changed[10] ?? 0) ^ 1;
    expect(challenges.isValid('', changed.toString('base64url'), NOW)).to.equal(false);
    for (const cut of ['', challenge.slice(0, 20), challenge.slice(0, -1)]) {
      expect(challenges.isValid('', cut, NOW), cut).to.equal(false);
    }
    const other = new Challenges(Buffer.alloc(32, 8));
    expect(other.isValid('', challenge, NOW)).to.equal(false);
  });
});
