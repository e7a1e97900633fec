import { inspect } from 'node:util';
import { expect } from 'chai';
import { ConfigError, loadConfig, loadSecretsKeys } from '../../../../shared/core/config.js';
import { SETTINGS } from '../../../../shared/core/settings/all-settings.js';
import type { Setting } from '../../../../shared/core/settings/setting.js';

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

describe('The configuration', () => {
  it('reports every problem at once, those between settings included', () => {
    const wrong = {
      DATABASE_URL: '',
      PORT: '0',
      EDGE: 'nginx',
      TRUST_PROXY: 'maybe',
      RUNTIME_PORTS: '20000',
      RESERVED_SLUGS: 'shop,-blog',
      SMTP_URL: 'smtp://mail.example.com',
      OIDC_ISSUER: 'http://accounts.example.com',
      OIDC_SCOPES: 'email',
      BACKUP_STORE: 's3',
      BACKUP_S3_ACCESS_KEY_ID: 'key',
    };
    expect(problems(wrong)).to.have.members([
      'DATABASE_URL is not set: a postgres:// address; "npm start" brings its own database',
      'PORT must be an integer from 1 to 65535, not "0"',
      'EDGE must be one of node, caddy, not "nginx"',
      'TRUST_PROXY must be true or false, not "maybe"',
      'RUNTIME_PORTS must be a port range such as 20000-29999, not "20000"',
      'RESERVED_SLUGS must be a comma list of names such as shop,my-blog, not "shop,-blog"',
      'SMTP_URL and MAIL_FROM must be set together',
      'OIDC_ISSUER must be an address such as https://accounts.example.com, not "http://accounts.example.com"',
      'OIDC_SCOPES must be scopes separated by spaces, with openid among them, not "email"',
      'OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET must be set together',
      'BACKUP_STORE=s3 needs BACKUP_S3_BUCKET, the name of the bucket',
      'BACKUP_S3_ACCESS_KEY_ID and BACKUP_S3_SECRET_ACCESS_KEY must be set together',
    ]);
  });

  it('treats an empty variable as absent', () => {
    const empty = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, '']));
    expect(JSON.stringify(loadConfig({ ...empty, ...NEEDED }))).to.equal(JSON.stringify(loadConfig(NEEDED)));
  });

  it('shows the text of a secret neither when it is printed nor in a problem', () => {
    const secrets = Object.entries<Setting<unknown>>(SETTINGS).flatMap(([name, { kind }]) =>
      kind.secret ? [name] : [],
    );
    expect(secrets).to.have.members([
      ...['BACKUP_S3_SECRET_ACCESS_KEY', 'DASHBOARD_PASSWORD', 'DATABASE_URL', 'METRICS_TOKEN'],
      ...['OIDC_CLIENT_SECRET', 'REDIS_URL', 'REGISTRY_URL', 'SECRETS_KEY', 'SECRETS_KEY_PREVIOUS', 'SMTP_URL'],
    ]);
    for (const name of secrets) {
      expect(problems({ [name]: 'hunter 2' }).join(), name).to.not.contain('hunter');
    }
    const key = Buffer.alloc(32, 'hunter2').toString('base64');
    const config = loadConfig({
      BACKUP_S3_ACCESS_KEY_ID: 'key',
      BACKUP_S3_SECRET_ACCESS_KEY: 'hunter2',
      DASHBOARD_USER: 'admin',
      DASHBOARD_PASSWORD: 'hunter2',
      DATABASE_URL: 'postgres://hunter2',
      METRICS_TOKEN: 'hunter2hunter2hunter2',
      OIDC_ISSUER: 'https://accounts.example.com',
      OIDC_CLIENT_ID: 'ranvier',
      OIDC_CLIENT_SECRET: 'hunter2',
      REDIS_URL: 'redis://hunter2',
      REGISTRY_URL: 'https://ranvier:hunter2@registry.example.com',
      SECRETS_KEY: key,
      SECRETS_KEY_PREVIOUS: `${key},${key}`,
      SMTP_URL: 'smtp://ranvier:hunter2@mail.example.com',
      MAIL_FROM: 'ranvier@example.com',
    });
    for (const text of [JSON.stringify(config), inspect(config, { depth: null })]) {
      expect(text).to.not.contain('hunter2').and.not.contain(key);
      expect(text.match(/\[REDACTED\]/g)).to.have.length(secrets.length + 1);
    }
  });

  it('calls the provider of the sign-in by its host, unless it has a name', () => {
    const provider = { OIDC_ISSUER: 'https://accounts.example.com/a', OIDC_CLIENT_ID: 'a', OIDC_CLIENT_SECRET: 'b' };
    expect(loadConfig({ ...NEEDED, ...provider }).oidc).to.include({
      name: 'accounts.example.com',
      scopes: 'openid email profile',
    });
    expect(loadConfig({ ...NEEDED, ...provider, OIDC_NAME: 'Acme' }).oidc?.name).to.equal('Acme');
    expect(loadConfig(NEEDED).oidc).to.equal(null);
    expect(problems({ OIDC_NAME: 'Acme' })).to.deep.equal(['OIDC_NAME needs OIDC_ISSUER, the provider it names']);
  });

  it('gives the keys alone, from the environment or else from DATA_DIR', () => {
    const [kept, given] = [Buffer.alloc(32, 1).toString('base64'), Buffer.alloc(32, 2).toString('base64')];
    expect(loadSecretsKeys(kept, {}).current.reveal()).to.equal(kept);
    const keys = loadSecretsKeys(kept, { SECRETS_KEY: given, SECRETS_KEY_PREVIOUS: ` ${kept},` });
    expect([keys.current, ...keys.previous].map((key) => key.reveal())).to.deep.equal([given, kept]);
    expect(() => loadSecretsKeys(null, {})).to.throw(ConfigError, /SECRETS_KEY is not set.*\n.*DATA_DIR holds no key/);
    expect(() => loadSecretsKeys('short', {})).to.throw(ConfigError, /SECRETS_KEY must be base64 of exactly 32 bytes/);
  });
});

describe('The configuration of builds', () => {
  it('gives builds the mirrors of every language, and no folder or token of the platform', () => {
    const mirrors = {
      MISE_NODE_MIRROR_URL: 'http://mirror/node',
      PIP_INDEX_URL: 'http://mirror/pypi',
      GOPROXY: 'http://mirror/go',
      BUNDLE_MIRROR__RUBYGEMS__ORG: 'http://mirror/gems',
      CARGO_REGISTRIES_CRATES_IO_INDEX: 'http://mirror/crates',
      COMPOSER_CAFILE: '/etc/ssl/mirror.pem',
    };
    const own = {
      CARGO_HOME: '/root/.cargo',
      MISE_DATA_DIR: '/root/mise',
      CARGO_REGISTRY_TOKEN: 'secret',
      MISED: 'no',
    };
    expect(loadConfig({ ...NEEDED, ...mirrors, ...own }).buildEnvironment).to.deep.equal(mirrors);
    const named = loadConfig({ ...NEEDED, ...mirrors, ...own, BUILD_ENV: 'CARGO_HOME,PIP_*' }).buildEnvironment;
    expect(named).to.deep.equal({ CARGO_HOME: '/root/.cargo', PIP_INDEX_URL: 'http://mirror/pypi' });
  });

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
  });
});

describe('The configuration of the API', () => {
  it('takes further host names, an address to listen on and a token for Prometheus', () => {
    const config = loadConfig({
      ...NEEDED,
      API_HOSTS: ' API.internal, ranvier ',
      API_ADDRESS: '::1',
      METRICS_TOKEN: '0123456789abcdef',
    });
    expect(config.apiHosts).to.deep.equal(['api.internal', 'ranvier']);
    expect(config.apiAddress).to.equal('::1');
    expect(config.metricsToken?.reveal()).to.equal('0123456789abcdef');
    const usual = loadConfig(NEEDED);
    expect([usual.apiHosts, usual.apiAddress, usual.metricsToken]).to.deep.equal([[], null, null]);
  });

  it('says which of them is wrong, and never shows the token', () => {
    expect(problems({ API_HOSTS: 'http://ranvier' })[0]).to.match(/^API_HOSTS must be a comma list of host names/);
    expect(problems({ API_ADDRESS: 'localhost' })[0]).to.match(/^API_ADDRESS must be an IP address/);
    for (const METRICS_TOKEN of ['short', 'with a space in it all']) {
      const [problem = ''] = problems({ METRICS_TOKEN });
      expect(problem).to.match(/^METRICS_TOKEN must have at least 16/);
      expect(problem).to.not.contain(METRICS_TOKEN);
    }
  });
});
