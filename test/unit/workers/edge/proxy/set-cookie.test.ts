import { expect } from 'chai';
import fc from 'fast-check';
import { withoutForeignDomain } from '../../../../../workers/edge/proxy/set-cookie.js';

const HOST = 'app.platform.test';

describe('The domain of a cookie', () => {
  it('stays if it is the host that answers', () => {
    for (const domain of ['Domain=app.platform.test', 'domain=.APP.platform.test', ' DOMAIN = app.platform.test ']) {
      const cookie = `a=1; ${domain}; Secure`;
      expect(withoutForeignDomain(cookie, HOST)).to.equal(cookie);
    }
  });

  it('goes if it is wider, another one, empty or unclear', () => {
    const foreign = ['platform.test', '.platform.test', 'test', 'other.platform.test', '', '..app.platform.test'];
    foreign.push('"app.platform.test"', 'app.platform.test.', 'app.platform.test, test', 'b\xfccher.test');
    for (const domain of [...foreign, 'app.platform.test:80', 'app.platform.test=x']) {
      expect(withoutForeignDomain(`a=1; Domain=${domain}; Path=/`, HOST), domain).to.equal('a=1; Path=/');
    }
    expect(withoutForeignDomain('a=1;\t\u00a0Domain\u0000=platform.test', HOST)).to.equal('a=1');
  });

  it('is no attribute in the first place: that is the name and the value', () => {
    expect(withoutForeignDomain('Domain=platform.test; Path=/', HOST)).to.equal('Domain=platform.test; Path=/');
  });

  it('is what nothing else is taken for', () => {
    for (const cookie of ['domain=test', 'a=Domain; x-Domain=test', '', 'a=1; Path=/;']) {
      expect(withoutForeignDomain(cookie, HOST)).to.equal(cookie);
    }
  });

  it('is found in time that grows with the cookie alone', () => {
    // In quadratic time, this would take minutes.
    const cookie = `a=1; ${' '.repeat(500_000)}x${';\t'.repeat(500_000)}`;
    // Compared as a boolean, because a failure must not compute the difference of two long texts.
    expect(withoutForeignDomain(cookie, HOST) === cookie).to.equal(true);
  });

  it('never stays in a wider form, whatever surrounds it', () => {
    const padding = fc.stringMatching(/^[\t \u007f\u00a0]{0,3}$/);
    fc.assert(
      fc.property(padding, padding, padding, (a, b, c) => {
        expect(withoutForeignDomain(`a=1;${a}dOmAiN${b}=${c}platform.test`, HOST)).to.equal('a=1');
      }),
    );
  });
});
