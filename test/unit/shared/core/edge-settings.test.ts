import { expect } from 'chai';
import { ConfigError, edgeUrl, loadConfig, serviceUrl } from '../../../../shared/core/config.js';

const NEEDED = { DATABASE_URL: 'postgres://x', SECRETS_KEY: Buffer.alloc(32).toString('base64') };

describe("the edge's settings", () => {
  it('give the address of a service', () => {
    const address = (env: Record<string, string>) => serviceUrl(loadConfig({ ...NEEDED, ...env }), 'shop');
    expect(address({})).to.equal('http://shop.localhost:8080');
    expect(address({ EDGE_PORT: '80', EDGE_DOMAIN: 'Example.org' })).to.equal('http://shop.example.org');
    const tls = { EDGE: 'caddy', EDGE_TLS: 'acme', EDGE_DOMAIN: 'example.org', EDGE_PORT: '80' };
    expect(address(tls)).to.equal('https://shop.example.org');
    expect(address({ ...tls, EDGE_TLS_PORT: '8443' })).to.equal('https://shop.example.org:8443');
    expect(edgeUrl(loadConfig({ ...NEEDED, ...tls }), 'localhost')).to.equal('https://localhost');
  });

  it('put what Caddy and the edge say to each other on sockets that hosted applications do not see', () => {
    const config = loadConfig({ ...NEEDED, EDGE: 'caddy', DATA_DIR: '/var/lib/ranvier' });
    expect(config.caddyAdminUrl).to.equal('unix:///run/caddy/admin.sock');
    expect(config.edgeSocketDir).to.equal('/var/lib/ranvier/edge');
    expect(loadConfig({ ...NEEDED, EDGE_SOCKET_DIR: '/run/ranvier' }).edgeSocketDir).to.equal('/run/ranvier');
  });

  it('name every variable that is wrong', () => {
    const problems = (env: Record<string, string>) => {
      try {
        loadConfig({ ...NEEDED, ...env });
      } catch (error) {
        if (error instanceof ConfigError) return error.problems.join('\n');
      }
      return '';
    };
    expect(problems({ EDGE: 'caddy', CADDY_ADMIN_URL: 'localhost:2019' })).to.match(/CADDY_ADMIN_URL must be/);
    expect(problems({ EDGE: 'caddy', DATA_DIR: `/${'x'.repeat(80)}` })).to.match(/EDGE_SOCKET_DIR must have a path/);
    expect(problems({ DATA_DIR: `/${'x'.repeat(80)}` })).to.equal('');
    expect(problems({ EDGE_TLS: 'internal' })).to.match(/EDGE_TLS=internal needs EDGE=caddy/);
    expect(problems({ EDGE: 'caddy', EDGE_TLS: 'internal', EDGE_TLS_PORT: '8080' })).to.match(
      /EDGE_TLS_PORT must differ/,
    );
    expect(problems({ EDGE: 'caddy', EDGE_TLS: 'acme', ACME_CA: 'somewhere' })).to.match(/ACME_CA must be/);
    expect(problems({ EDGE: 'caddy', EDGE_TLS: 'acme', ACME_EMAIL: 'ops@example.org' })).to.equal('');
  });
});
