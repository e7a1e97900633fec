import { expect } from 'chai';
import { senderOf } from '../../../../api/http/origin.js';
import type { ApiContext } from '../../../../api/http/request-state.js';

const PUBLIC_URL = 'https://ranvier.example.com';

function sender(headers: Record<string, string>, { secure = false, host = 'localhost:3000' } = {}): string {
  const ctx = { get: (name: string) => headers[name] ?? '', secure, req: { headers: { host } } };
  return senderOf(ctx as unknown as ApiContext, PUBLIC_URL);
}

describe('The sender of a request', () => {
  it('is unknown without any header that tells', () => {
    expect(sender({})).to.equal('unknown');
  });

  it('is our own page on the address of the request, on PUBLIC_URL, or if the user typed the address', () => {
    expect(sender({ Origin: 'http://localhost:3000' })).to.equal('own');
    expect(sender({ Referer: 'http://localhost:3000/api/docs' })).to.equal('own');
    expect(sender({ Origin: PUBLIC_URL })).to.equal('own');
    expect(sender({ 'Sec-Fetch-Site': 'same-origin' })).to.equal('own');
    expect(sender({ 'Sec-Fetch-Site': 'none' })).to.equal('own');
  });

  it('is foreign from another site, host, port or sandbox, whichever header shows it', () => {
    for (const site of ['cross-site', 'same-site', 'nonsense']) {
      expect(sender({ 'Sec-Fetch-Site': site, Origin: PUBLIC_URL }), site).to.equal('foreign');
    }
    for (const origin of ['http://evil.example.com', 'http://localhost:3001', 'null', 'localhost:3000']) {
      expect(sender({ Origin: origin }), origin).to.equal('foreign');
      expect(sender({ Referer: origin }), origin).to.equal('foreign');
      expect(sender({ Origin: PUBLIC_URL, Referer: origin }), origin).to.equal('foreign');
      expect(sender({ 'Sec-Fetch-Site': 'same-origin', Origin: origin }), origin).to.equal('foreign');
    }
  });

  it('over TLS is not a page without TLS; without TLS it may be one behind a TLS proxy', () => {
    const host = 'api.example.com';
    expect(sender({ Origin: `http://${host}` }, { host, secure: true })).to.equal('foreign');
    expect(sender({ Origin: `https://${host}` }, { host, secure: true })).to.equal('own');
    expect(sender({ Origin: `https://${host}` }, { host })).to.equal('own');
  });

  it('treats the default port of the scheme as no port', () => {
    expect(sender({ Origin: 'http://api.example.com' }, { host: 'api.example.com:80' })).to.equal('own');
    expect(sender({ Origin: 'http://api.example.com' }, { host: 'api.example.com:443' })).to.equal('foreign');
  });
});
