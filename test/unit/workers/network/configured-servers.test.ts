import { expect } from 'chai';
import { packageSettings, resolversOf, resolvText, serversIn } from '../../../../workers/network/configured-servers.js';

describe('Servers that settings name', () => {
  it('are found in addresses of registries, lists and proxies, with the port of their scheme', () => {
    expect(
      serversIn({
        npm_config_registry: 'https://registry.example.com/npm/',
        GOPROXY: 'http://10.0.0.7:3000,direct',
        http_proxy: 'http://user:secret@proxy.example.com:3128/',
        HTTPS_PROXY: '10.0.0.8:8080',
        NO_PROXY: '10.0.0.9:80',
        NODE_EXTRA_CA_CERTS: '/etc/ssl/ca.pem',
        PIP_INDEX_URL: 'http://[::1]:81/simple',
      }),
    ).to.deep.equal([
      { host: 'registry.example.com', port: 443 },
      { host: '10.0.0.7', port: 3000 },
      { host: 'proxy.example.com', port: 3128 },
      { host: '10.0.0.8', port: 8080 },
      { host: '::1', port: 81 },
    ]);
  });

  it("are read from npm's and pip's files", () => {
    const text =
      '; comment\nregistry=http://127.0.0.1:4873/\n@a:registry = https://a.example.com\nproxy=http://p:1\n_auth=x\n';
    expect(packageSettings(text)).to.deep.equal({
      registry: 'http://127.0.0.1:4873/',
      '@a:registry': 'https://a.example.com',
      proxy: 'http://p:1',
    });
    expect(packageSettings('[global]\nindex-url = https://pip.example.com/simple\n')).to.deep.equal({
      'index-url': 'https://pip.example.com/simple',
    });
  });
});

describe('Name servers', () => {
  it('are those of the host; if they are on loopback, those that systemd asks, or else one on loopback', () => {
    expect(resolversOf('nameserver 10.0.0.2\nnameserver 127.0.0.1\n', '')).to.deep.equal({
      reachable: ['10.0.0.2'],
      loopback: null,
    });
    expect(resolversOf('nameserver 127.0.0.53\n', 'nameserver 192.168.1.1\n')).to.deep.equal({
      reachable: ['192.168.1.1'],
      loopback: null,
    });
    expect(resolversOf('nameserver 127.0.0.53\n', '')).to.deep.equal({ reachable: [], loopback: '127.0.0.53' });
    expect(resolversOf('', '')).to.deep.equal({ reachable: [], loopback: '127.0.0.1' });
  });

  it('replace those of the file, and other lines stay', () => {
    expect(resolvText('# x\nnameserver 127.0.0.53\nsearch a.example\noptions edns0\n', ['10.64.0.1'])).to.equal(
      'nameserver 10.64.0.1\nsearch a.example\noptions edns0\n',
    );
  });
});
