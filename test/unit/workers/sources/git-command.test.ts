import { expect } from 'chai';
import { gitEnvironment, gitNetwork } from '../../../../workers/sources/git-command.js';

const options = (allowFile: boolean) => ({
  network: { https_proxy: 'http://proxy' },
  configFile: '/config',
  allowFile,
});

describe('The environment of git', () => {
  it('allows file: repositories only if the installation allows local repositories', () => {
    expect(gitEnvironment(options(true)).GIT_ALLOW_PROTOCOL).to.equal('https:http:file');
    expect(gitEnvironment(options(false)).GIT_ALLOW_PROTOCOL).to.equal('https:http');
  });

  it('never allows ssh:, git: or ext:', () => {
    for (const allowFile of [true, false]) {
      const protocols = gitEnvironment(options(allowFile)).GIT_ALLOW_PROTOCOL?.split(':');
      expect(protocols).to.not.include.members(['ssh']).and.not.include.members(['git']);
      expect(protocols).to.not.include.members(['ext']);
    }
  });

  it('has nothing of the worker, and reads one configuration file', () => {
    const environment = gitEnvironment(options(false));
    expect(environment).to.include({ https_proxy: 'http://proxy', GIT_CONFIG_GLOBAL: '/config', HOME: '/nonexistent' });
    expect(environment).to.include({ GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0', GIT_ASKPASS: '/bin/false' });
    expect(environment).to.not.have.any.keys('DATABASE_URL', 'SECRETS_KEY', 'USER');
  });

  it('carries settings with secrets in variables, and counts them', () => {
    const environment = gitEnvironment(options(false), [['http.extraHeader', 'Authorization: x']]);
    expect(environment).to.include({
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'http.extraHeader',
      GIT_CONFIG_VALUE_0: 'Authorization: x',
    });
  });

  it('has proxies in lower case and certificates under names of git', () => {
    expect(gitNetwork({ HTTPS_PROXY: 'a', no_proxy: 'b', SSL_CERT_FILE: '/c', PATH: '/d' })).to.deep.equal({
      https_proxy: 'a',
      no_proxy: 'b',
      GIT_SSL_CAINFO: '/c',
    });
  });
});
