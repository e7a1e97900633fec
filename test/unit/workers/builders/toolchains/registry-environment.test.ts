import { expect } from 'chai';
import { registryEnvironment } from '../../../../../workers/builders/toolchains/registry-environment.js';

describe("The operator's registry for package managers", () => {
  it('is named as each of them reads it', () => {
    const found = registryEnvironment({ npm_config_registry: 'https://packages.example', HTTPS_PROXY: 'http://proxy' });
    expect(found).to.deep.equal({
      YARN_NPM_REGISTRY_SERVER: 'https://packages.example',
      pnpm_config_registry: 'https://packages.example',
      YARN_HTTPS_PROXY: 'http://proxy',
    });
  });

  it('gives its certificates to npm itself on a Node.js that does not know their variable', () => {
    const certificates = (...tools: string[]) =>
      registryEnvironment({ NODE_EXTRA_CA_CERTS: '/ca.pem' }, tools).npm_config_cafile;
    expect(certificates('node-4.0.0', 'npm-3.10.10')).to.equal('/ca.pem');
    expect(certificates('node-8.9.3')).to.equal(undefined);
    expect(certificates()).to.equal(undefined);
  });
});
