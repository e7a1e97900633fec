import { expect } from 'chai';
import { ConfigError, loadConfig } from '../../shared/config.js';

const NEEDED = { DATABASE_URL: 'postgres://x', SECRETS_KEY: Buffer.alloc(32).toString('base64') };

function problems(environment: Record<string, string>): string[] {
  try {
    loadConfig({ ...NEEDED, ...environment });
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('The configuration of builds', () => {
  it('replaces base images one by one', () => {
    const usual = loadConfig(NEEDED).baseImages;
    const own = loadConfig({ ...NEEDED, BASE_IMAGES: ' node = local/node:20 , go=local/go@sha256:12,' }).baseImages;
    expect(own).to.deep.equal({ ...usual, node: 'local/node:20', go: 'local/go@sha256:12' });
  });

  it('knows where BuildKit is for builds of containers, and takes no form that a sandbox cannot reach', () => {
    const at = (BUILDKIT_HOST: string, RUNTIME = 'swarm') => ({ BUILDKIT_HOST, RUNTIME });
    for (const host of ['unix:///run/buildkit/buildkitd.sock', 'tcp://127.0.0.1:1234']) {
      expect(loadConfig({ ...NEEDED, ...at(host) }).railpack.buildkitHost).to.equal(host);
      expect(loadConfig({ ...NEEDED, ...at(host, 'process') }).railpack.buildkitHost).to.equal(null);
    }
    for (const host of ['docker-container://buildkit', '/run/buildkitd.sock', 'tcp://buildkit']) {
      expect(problems(at(host))[0], host).to.match(/^BUILDKIT_HOST must be unix:\/\/.* or tcp:\/\/host:port, not/);
      expect(problems(at(host, 'process'))).to.deep.equal([]);
    }
  });

  it('names what is wrong and what there is', () => {
    for (const BASE_IMAGES of ['node', 'node=', 'cobol=x', 'node=a b', '__proto__=x']) {
      expect(problems({ BASE_IMAGES })[0], BASE_IMAGES).to.match(/^BASE_IMAGES .* of node, python, go, auto$/);
    }
    expect(problems({ DOCKER_BUILDER: 'kaniko' })[0]).to.match(
      /^DOCKER_BUILDER must be one of auto, buildkit, classic/,
    );
  });
});
