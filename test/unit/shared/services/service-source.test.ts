import { expect } from 'chai';
import {
  addressProblem,
  credentialsOf,
  isMasked,
  maskedRepository,
  repositoryProblem,
} from '../../../../shared/services/service-source.js';

describe('Addresses of repositories', () => {
  for (const [address, shown] of [
    ['https://host/x.git', 'https://host/x.git'],
    ['file:///srv/x', 'file:///srv/x'],
    ['https://deploy:s3cret@host/x.git', 'https://***@host/x.git'],
    ['https://s3cret@host:8443/x.git', 'https://***@host:8443/x.git'],
    ['https://:s3cret@host/x.git', 'https://***@host/x.git'],
    ['https://host/x.git?private_token=s3cret', 'https://host/x.git?***'],
    ['https://host/x.git?a=1&s3cret', 'https://host/x.git?***'],
    ['https://host/x.git#s3cret', 'https://host/x.git#***'],
    ['https://u:s3cret@host/x.git?t=s3cret#s3cret', 'https://***@host/x.git?***#***'],
    ['file:///srv/x?s3cret#s3cret', 'file:///srv/x?***#***'],
  ] as const) {
    it(`${address} is shown as ${shown}`, () => {
      expect(maskedRepository(address)).to.equal(shown);
      expect(maskedRepository(shown)).to.equal(shown);
      expect(isMasked(shown)).to.equal(shown !== address);
      expect(isMasked(address)).to.equal(false);
      if (address.includes('s3cret')) expect(credentialsOf(address)).to.include('s3cret');
    });
  }

  it('lend each part of their query to the masker of logs, also decoded', () => {
    const secrets = credentialsOf('https://host/x.git?private_token=abc%2Fdef&job=xyz#frag%20ment');
    expect(secrets).to.include.members(['private_token=abc%2Fdef', 'abc/def', 'xyz', 'frag ment', 'job=xyz']);
  });

  for (const address of [
    ...['ext::sh -c id', '--upload-pack=x', '-x', 'git@-x:a/b.git', 'ssh://git:pw@host/x', 'git://host/x', 'host/x'],
    ...['https://', 'https:///\n', 'https://ho st/x', 'fd::17/foo', 'javascript:x', 'file://host/x', ' https://host/x'],
    ...['https://host/x\u0085', 'ftp://host/x', '/srv/x', '../x', 'https://host:99999/x'],
  ]) {
    it(`${JSON.stringify(address)} can never be one, and the message shows nothing of it`, () => {
      const problem = addressProblem(address) ?? expect.fail('it is taken for one');
      expect(problem).to.match(/repository/);
      expect(addressProblem(`s3cret${address}`) ?? '').to.not.contain('s3cret');
    });
  }

  it('can be of any host: what is allowed there is decided at a deployment', () => {
    for (const address of ['https://host/x.git', 'http://127.0.0.1/x', 'file:///etc', 'http://１２７.0.0.1/x.git']) {
      expect(addressProblem(address), address).to.equal(null);
    }
  });

  it('are of this host or of a private address only if the installation allows that', () => {
    for (const address of [
      'file:///srv/x',
      'http://127.0.0.1/x',
      'https://10.0.0.1/x',
      'https://localhost/x',
      'http://[::1]/x',
    ]) {
      expect(repositoryProblem(address, false), address).to.match(/ALLOW_LOCAL_REPOSITORIES/);
      expect(repositoryProblem(address, true), address).to.equal(null);
    }
    expect(repositoryProblem('https://host/x.git', false)).to.equal(null);
    expect(repositoryProblem('', true)).to.match(/empty/);
    expect(repositoryProblem('https://host/é', true)).to.match(/ASCII/);
  });
});
