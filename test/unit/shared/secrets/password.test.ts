import { expect } from 'chai';
import { hashPassword, newPassword, verifyPassword } from '../../../../shared/secrets/password.js';

describe('passwords', () => {
  it('only the password itself is accepted', async () => {
    const hash = await hashPassword('correct horse');
    expect(await verifyPassword('correct horse', hash)).to.equal(true);
    expect(await verifyPassword('correct horsf', hash)).to.equal(false);
    expect(await verifyPassword('', hash)).to.equal(false);
  });

  it('two hashes of one password differ and name their parameters', async () => {
    const [a, b] = [await hashPassword('same'), await hashPassword('same')];
    expect(a).to.not.equal(b);
    expect(a)
      .to.match(/^scrypt\$32768\$8\$3\$/)
      .and.not.include('same');
  });

  it('a hash made with other parameters is still verified', async () => {
    const older = 'scrypt$1024$8$1$c2FsdA==$';
    const { scryptSync } = await import('node:crypto');
    const key = scryptSync('old', 'salt', 32, { cost: 1024, blockSize: 8, parallelization: 1 }).toString('base64');
    expect(await verifyPassword('old', older + key)).to.equal(true);
    expect(await verifyPassword('new', older + key)).to.equal(false);
  });

  it('a user that does not exist is refused, a damaged hash is an error', async () => {
    expect(await verifyPassword('anything', null)).to.equal(false);
    const failure = await verifyPassword('anything', 'plain').catch((error: Error) => error.message);
    expect(failure).to.match(/unreadable/);
  });

  it('a made password is long and never the same', () => {
    expect(newPassword()).to.have.length(20).and.not.equal(newPassword());
  });
});
