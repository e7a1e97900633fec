import { expect } from 'chai';
import {
  addressProblem,
  credentialsOf,
  isMasked,
  maskedRepository,
  repositoryProblem,
} from '../../../../shared/services/service-source.js';
import { newKeyPair } from '../../../../shared/ssh/key-pair.js';
import {
  addressForWorkspace,
  fingerprintOf,
  givenAddress,
  knownHostName,
  parseSshAddress,
  parseWorkspaceAddress,
  scannedKeys,
} from '../../../../shared/ssh/model.js';

describe('An SSH address', () => {
  it('is read in both forms', () => {
    const url = 'ssh://git@example.com:22/owner/name.git';
    expect(parseSshAddress('git@example.com:owner/name.git')).to.deep.equal({
      user: 'git',
      host: 'example.com',
      port: 22,
      url,
    });
    expect(parseSshAddress('ssh://git@example.com/owner/name.git')?.url).to.equal(url);
    expect(parseSshAddress('ssh://git@Example.com:2222/x')).to.include({ host: 'example.com', port: 2222 });
    expect(parseSshAddress('ssh://git@[2001:db8::1]/x')).to.include({ host: '2001:db8::1' });
  });

  it('has no password, no option and nothing for a shell', () => {
    const refused = [
      ...['ssh://-oProxyCommand=touch%20x/x', 'ssh://git@-oProxyCommand=x/x', '-oProxyCommand=x@host:x'],
      ...['git@-x:y', 'ssh://git:secret@host/x', 'ssh://host/x', 'ssh://git@host/', 'ssh://git@host/-x'],
      ...['ssh://git@host/$(x)', "ssh://git@host/'x'", 'ssh://git@host/`x`', 'git@host:x y'],
      'ssh://git@host/x?y',
    ];
    for (const address of refused) {
      expect(parseSshAddress(address), address).to.equal(null);
      expect(addressProblem(address), address).to.not.equal(null);
    }
  });

  it('is shown as it is, has no secret, and is not private', () => {
    for (const address of ['git@example.com:owner/name.git', 'ssh://git@example.com/x']) {
      expect(repositoryProblem(address, false)).to.equal(null);
      expect(maskedRepository(address)).to.equal(address);
      expect(isMasked(address)).to.equal(false);
      expect(credentialsOf(address)).to.deep.equal([]);
    }
    for (const address of ['git@127.0.0.1:x', 'ssh://git@localhost/x', 'ssh://git@[::1]/x']) {
      expect(repositoryProblem(address, false), address).to.match(/private address/);
      expect(repositoryProblem(address, true), address).to.equal(null);
    }
  });

  it('is bound to a workspace for its workers, in a form that nobody can give', () => {
    const bound = addressForWorkspace('git@example.com:x', 'w');
    expect(parseWorkspaceAddress(bound)).to.deep.equal({ workspaceId: 'w', address: 'git@example.com:x' });
    expect(givenAddress(bound)).to.equal('git@example.com:x');
    expect(addressProblem(bound)).to.not.equal(null);
    expect(addressForWorkspace('https://example.com/x', 'w')).to.equal('https://example.com/x');
  });
});

describe('The keys of servers', () => {
  const key = 'A'.repeat(68);

  it('are taken from a scan, without what is no key', () => {
    const output = `# 10.0.0.1:22 SSH-2.0\n10.0.0.1 ssh-ed25519 ${key}\n10.0.0.1 ssh-ed25519 ${key}\nx evil ${key}\nx ssh-rsa $(x)\n`;
    expect(scannedKeys(output)).to.deep.equal([`ssh-ed25519 ${key}`]);
  });

  it('have names and fingerprints as ssh shows them', () => {
    expect(knownHostName({ host: 'h', port: 22 })).to.equal('h');
    expect(knownHostName({ host: 'h', port: 2222 })).to.equal('[h]:2222');
    expect(fingerprintOf(key)).to.match(/^SHA256:[A-Za-z0-9+/]{43}$/);
  });
});

describe('A new key pair', () => {
  it('is one of Ed25519, each time another one', () => {
    const [one, two] = [newKeyPair('a'), newKeyPair('a')];
    expect(one.publicKey).to.match(/^ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI[A-Za-z0-9+/]{43} a$/);
    expect(one.privateKey).to.match(
      /^-----BEGIN OPENSSH PRIVATE KEY-----\n[^-]+\n-----END OPENSSH PRIVATE KEY-----\n$/,
    );
    expect(one.publicKey).to.not.equal(two.publicKey);
  });
});
